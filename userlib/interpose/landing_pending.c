// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the landings that are under way, and finishes one of them for its stub.
 *
 * landing.c claims a landing and fills it.  The unwinder then enters the stub with the landing's
 * number (landing_stubs.S), which calls __pcce_landing_finish().  A signal handler that lands
 * meanwhile claims another one.
 */
#include "interpose/landing.h"
#include "stack/page.h"
#include "stack/segments.h"

struct landing __pcce_landings[LANDINGS];

struct landing *__pcce_landing_claim(void)
{
	for (unsigned int i = 0; i < LANDINGS; i++) {
		uint32_t expected = 0;

		if (__atomic_compare_exchange_n(&__pcce_landings[i].used, &expected, 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return &__pcce_landings[i];
	}
	return NULL;
}

uint64_t __pcce_landing_finish(unsigned int i)
{
	struct landing *l = &__pcce_landings[i];
	uint64_t pad = l->pad;

	__pcce_segment_return(l->position);
	if (pcce_page.off & PCCE_OFF_USED)
		*(volatile __u64 *)((char *)&pcce_page.base.site + pcce_page.off) = l->word;
	*(volatile __u64 *)&pcce_page.id = 0;
	__atomic_store_n(&l->used, 0, __ATOMIC_RELEASE);
	return pad;
}

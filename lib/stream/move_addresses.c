/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See move_addresses.h. */
#include "stream/move_addresses.h"

uint64_t move_ext(const struct address_mover *v, uint64_t ext)
{
	return ext >> 32 ? v->move(v->ctx, ext) : ext;
}

static uint64_t move_site(const struct address_mover *v, uint64_t word)
{
	uint64_t site = word & PCCE_SITE_MASK;

	return (word & ~PCCE_SITE_MASK) | (site ? v->move(v->ctx, site) : 0);
}

/* struct pcce_entry says what the words hold. */
struct pcce_entry move_entry(const struct address_mover *v, struct pcce_entry e)
{
	switch (e.site >> PCCE_SITE_BITS) {
	case PCCE_COUNT_MARK:
	case PCCE_COUNT_FILL:
	case PCCE_COUNT_JUMP:
	case PCCE_COUNT_ORIGIN2:
	case PCCE_COUNT_UNKNOWN:
	case PCCE_COUNT_SHARED:
		return e;
	case PCCE_COUNT_JUMP2:
		e.id = e.id >> PCCE_SITE_BITS <= PCCE_COUNT_MAX ? move_site(v, e.id) : e.id;
		e.site = (e.site & ~PCCE_SITE_MASK) | move_ext(v, e.site & PCCE_SITE_MASK);
		return e;
	case PCCE_COUNT_LEAF:
	case PCCE_COUNT_ORIGIN:
		e.site = (e.site & ~PCCE_SITE_MASK) | move_ext(v, e.site & PCCE_SITE_MASK);
		return e;
	case PCCE_COUNT_SIGNAL2:
		e.id = move_ext(v, e.id);
		e.site = move_site(v, e.site);
		return e;
	default:
		e.site = move_site(v, e.site);
		return e;
	}
}

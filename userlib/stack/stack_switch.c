// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Implements pcce_switch_begin and its kin (pcce.h), for programs that switch stacks by other means
 * than ucontext.
 *
 * The plugin takes the two calls for calls of leaves, so ext names the call, and nothing was
 * pushed. The stack that is left is kept as it is then. The stack that is entered is as it was at
 * its own call, except that ext names the call that returns now. In between, id and all entries are
 * lost, so samples of whatever instrumented code runs then are marked.
 */
#include "internal.h"
#include "stack/segments.h"
#include "stack/stack_state.h"
#include "stack/unknown.h"

struct kept {
	uint64_t magic;
	struct stack_state state;
};

_Static_assert(sizeof(struct kept) <= sizeof(struct pcce_switch),
	       "a kept stack fits into the program's struct");

#define MAGIC 0x6863746977736370 /* "pcswitch" */

static struct kept *kept_in(struct pcce_switch *mine)
{
	return (struct kept *)mine;
}

static void set_ext(uint64_t ext)
{
	*(volatile __u64 *)&pcce_page.ext = ext;
}

void pcce_stack_leave(struct pcce_switch *mine)
{
	struct kept *k = kept_in(mine);
	uint64_t area = page_is_shared() ? 0 : pcce_page.area;

	if (k)
		k->magic = pcce_page.ext && __pcce_stack_keep(&k->state) ? MAGIC : 0;
	__pcce_segment_lost();
	if (!k || !k->magic)
		__pcce_stack_free_area(area);
}

void pcce_stack_enter(struct pcce_switch *mine)
{
	struct kept *k = kept_in(mine);
	uint64_t ext = pcce_page.ext, area = pcce_page.area;

	if (!ext || (k && k->magic != MAGIC) || page_stays_shared())
		return;
	set_ext(PCCE_EXT_CHANGING);
	/* What was reserved meanwhile belongs to no stack. */
	if (k) {
		k->magic = 0;
		__pcce_stack_load(&k->state, ext);
	} else {
		__pcce_stack_empty();
		set_ext(ext);
	}
	__pcce_stack_free_area(area);
}

void pcce_stack_forget(struct pcce_switch *mine)
{
	struct kept *k = kept_in(mine);

	if (k->magic == MAGIC)
		__pcce_stack_free_area(k->state.area);
	k->magic = 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Proves the state again after it was unknown: see unknown.h.
 *
 * Below the entry of the unknown state is the entry of the newest call that was active when the
 * state was still known. Calls that began later push and pop above, or, in a shared page, not at
 * all. Their frames are below sp. So the first pop above sp belongs to the newest of the older
 * calls, unless frames were left without a pop. Its slot must be that of the call.
 *
 * A handler that interrupts a slot between two instructions may be what changed the state. Then the
 * slot goes on and claims or releases one entry more. So there are two entries for an unknown
 * state, and the first without the second, or the reverse, remains for good.
 *
 * A page that is shared is no longer when the other task has ended. Only the page's own thread may
 * find that. It looks whenever a call ends that was active when the sharing began.
 *
 * Every instrumented shared library contains this file, so it must not use any other part of the
 * runtime. It runs inside a pop, as segments.c does.
 */
#include <errno.h>
#include "stack/segment_moves.h"
#include "stack/unknown.h"

/* No after-slot ends further away from its key. */
#define SLOT_MAX 160

/* Does the after-slot of the call at this site end there? It loads its end into r11 first. */
static bool is_slot_end(uint64_t site, uint64_t end)
{
	const unsigned char *p = (const unsigned char *)site;

	if (!site || end <= site || end - site > SLOT_MAX)
		return false;
	for (; (uint64_t)p + 7 <= end; p++)
		if (p[0] == 0x4c && p[1] == 0x8d && p[2] == 0x1d) { /* lea end(%rip), %r11 */
			int32_t distance = (int32_t)((uint32_t)p[3] | (uint32_t)p[4] << 8 |
						     (uint32_t)p[5] << 16 | (uint32_t)p[6] << 24);

			return (uint64_t)p + 7 + (uint64_t)(int64_t)distance == end;
		}
	return false;
}

/* Returns the entries of the segment below the current one; NULL: it has none, or they are lost. */
static volatile struct pcce_entry *entries_below(uint64_t word)
{
	uint32_t number = segment_number(word);
	struct pcce_segment *s;

	if (!number)
		return NULL;
	if (held_kind(word) == PCCE_PLACE_KEPT)
		return (volatile struct pcce_entry *)page_half(start_of_half(number - 1)) + 1;
	s = stored_segment(number - 1);
	return s && s->generation && s->generation == *page_half(start_of_half(number)) ? s->entry
											: NULL;
}

/* Is this not the other task? unknown: the answer where it must not be asked. */
static bool is_own_thread(bool unknown)
{
	return is_confined(CONFINED) ? unknown
				     : (uint32_t)raw_syscall0(SYS_gettid) == pcce_page.tid;
}

bool __pcce_unknown_left(void)
{
	if (is_own_thread(true))
		newest_of_page()->id = UNKNOWN_FOR_GOOD;
	return true;
}

static bool is_no_call(const volatile struct pcce_entry *e)
{
	return is_unknown_kind(e->site) || e->site >> PCCE_SITE_BITS == PCCE_COUNT_FILL;
}

/* What is on top of the newest call, and that call. */
struct newest {
	volatile struct pcce_entry *shared; /* NULL: the page is not shared */
	volatile struct pcce_entry *call;
	uint32_t used; /* bytes of the current segment up to the call; 0: it is in the one below */
};

/* False: no pop at this sp proves anything. */
static bool find_newest(struct newest *n, uint64_t word, uint64_t sp)
{
	uint32_t left = ((uint32_t)word & PCCE_OFF_USED) / sizeof(struct pcce_entry);
	volatile struct pcce_entry *e =
		(volatile struct pcce_entry *)page_half(start_of_half(segment_number(word))) + 1;

	*n = (struct newest){.shared = page_is_shared() ? &e[left - 1] : NULL};
	for (; left && is_no_call(&e[left - 1]); left--)
		if (is_unknown_kind(e[left - 1].site) &&
		    (sp <= e[left - 1].id || (e[left - 1].site == UNKNOWN_SECOND &&
					      (left < 2 || e[left - 2].site != UNKNOWN_FIRST))))
			return false;
	n->used = left * (uint32_t)sizeof(*e);
	if (!left) {
		e = entries_below(word);
		left = PCCE_SEGMENT_ENTRIES;
		while (e && left && is_no_call(&e[left - 1]))
			left--;
	}
	n->call = e && left ? &e[left - 1] : NULL;
	return n->call && n->call->site >> PCCE_SITE_BITS <= PCCE_COUNT_MAX;
}

/*
 * The page's own thread pops in a shared page. Returns whether the other task has ended. If not,
 * the call is over all the same: the next one to end is what is below.
 */
static bool ends_sharing(const struct newest *n, uint64_t word, uint64_t sp)
{
	uint32_t other = (uint32_t)n->shared->site;

	if (!is_own_thread(false))
		return false;
	if (other && raw_syscall2(SYS_tkill, other, 0) == -ESRCH) {
		*(volatile __u32 *)&pcce_page.state &= ~PCCE_STATE_SHARED;
		return true;
	}
	/* A segment that is not in the page any more does not change. */
	if (!n->used && held_kind(word) != PCCE_PLACE_KEPT) {
		n->shared->id = UNKNOWN_FOR_GOOD;
		return false;
	}
	n->shared->id = sp;
	if (n->call->site >> PCCE_SITE_BITS)
		n->call->site -= 1ULL << PCCE_SITE_BITS;
	else
		n->call->site = PCCE_COUNT_FILL << PCCE_SITE_BITS;
	if (!n->used)
		*page_half(start_of_half(segment_number(word))) = next_generation();
	return false;
}

bool __pcce_unknown_pop(uint64_t end, uint64_t sp)
{
	uint64_t word = *position_word();
	uint32_t number = segment_number(word);
	struct newest n;

	if (((uint32_t)word & PCCE_OFF_USED) > PCCE_OFF_FULL || !find_newest(&n, word, sp) ||
	    !is_slot_end(n.call->site & PCCE_SITE_MASK, end))
		return false;
	if (n.shared && !ends_sharing(&n, word, sp))
		return false;
	return replace_current(word,
			       word_of(start_of_half(number) + n.used, number, held_kind(word)));
}

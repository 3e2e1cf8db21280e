// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copies the state of the calling thread: pcce_capture() of pcce.h.
 *
 * The plugin takes the call for that of a leaf. So ext names it, and nothing was pushed. Segments
 * below the current one are read with signals blocked, as in context_id.c.
 */
#include <signal.h>
#include "base/confined.h"
#include "contexts/modules.h"
#include "internal.h"
#include "base/local_libc.h"
#include "stack/segments_below.h"
#include "base/syscall.h"

/*
 * Copies the newest entries of complete segments, downwards, to what ends at `end`. Returns how
 * many were copied. *whole: the thread's own stack is among them. What is below it is the creation
 * context of the thread, which says itself whether it is complete.
 */
static uint64_t copy_below(struct pcce_entry *end, uint64_t room, bool *whole)
{
	struct segments_below s;
	uint64_t done = 0, generation;

	if (!segments_below_read(&s))
		return 0;
	generation = s.generation;
	for (uint32_t k = 0; k < s.n && done < room; k++) {
		const struct pcce_entry *base = segment_known(&s, k, generation);
		uint64_t n =
			room - done < PCCE_SEGMENT_ENTRIES ? room - done : PCCE_SEGMENT_ENTRIES;

		if (!base)
			break;
		if (base[PCCE_SEGMENT_ENTRIES].site >> PCCE_SITE_BITS == PCCE_COUNT_ORIGIN2)
			*whole = true;
		done += n;
		memcpy(end - done, base + 1 + PCCE_SEGMENT_ENTRIES - n, n * sizeof(*base));
		generation = base->id;
	}
	return done;
}

static uint64_t copy_below_blocked(struct pcce_entry *end, uint64_t room, bool *whole)
{
	const uint64_t all = ~0ULL;
	bool block = !is_confined(CONFINED_NO_MMAP);
	uint64_t before, n;

	if (!room)
		return 0;
	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	n = copy_below(end, room, whole);
	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return n;
}

__attribute__((noinline)) int pcce_state_copy(struct pcce_context *to, __u64 size)
{
	uint64_t pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
	const struct pcce_entry *entries =
		(const struct pcce_entry *)((const char *)pcce_page.entry +
					    (pcce_page.off & PCCE_OFF_HALF));
	uint64_t n = (pcce_page.off & PCCE_OFF_USED) / sizeof(*entries),
		 below = (uint64_t)(pcce_page.place >> PCCE_PLACE_SHIFT) * PCCE_SEGMENT_ENTRIES,
		 ext = page_ext(), room, copied, copied_below;
	struct pcce_entry *out = (struct pcce_entry *)(to + 1);
	bool whole = false;

	if (size < sizeof(*to) || (!ext && !page_has_entries()) || n > PCCE_SEGMENT_ENTRIES)
		return -1;
	room = (size - sizeof(*to)) / sizeof(*entries);
	copied = n < room ? n : room;
	room = room - copied < below ? room - copied : below;
	/* Older entries come first. */
	copied_below = copy_below_blocked(out + room, room, &whole);
	if (copied_below < room)
		for (uint64_t i = 0; i < copied_below; i++)
			out[i] = out[room - copied_below + i];
	if (copied)
		memcpy(out + copied_below, entries + n - copied, copied * sizeof(*entries));
	*to = (struct pcce_context){
		.ip = is_call_of_ext(ext, pc) ? (uint64_t)(uintptr_t)pcce_state_copy : pc,
		.id = pcce_page.id,
		.ext = ext,
		.n_entries = copied_below + copied,
		.missing = below + n - copied_below - copied,
	};
	return to->missing && !whole;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the encoding stack out of a thread page (abi.h): what a page must be like, and which bytes
 * of which memory belong to a sample. The BPF program, the kernel module and the sampler `self`
 * include this file. They differ in how they find the page, in how they read memory, and in how
 * they remember what earlier samples have carried. A sample takes these steps:
 *
 *  1. Copy the page's head (all before its entries). If pcce_page_is_valid() says no, the sample
 *     has PCCE_SAMPLE_OUTSIDE, and nothing of the page.
 *  2. Call pcce_page_describe(). If it returns PCCE_SAMPLE_READ_FAULT, the sample has id and ext of
 *     the page, and no stack.
 *  3. Copy the base at `base` and the n_entries entries behind it. Set `below` to the base's id.
 *  4. If there are segments below, choose those that no earlier sample has carried. A reader that
 *     keeps the highest generation that it has sent calls pcce_choose_unsent(). Another one calls
 *     pcce_find_first_new() and pcce_choose_segments().
 *  5. Call pcce_copy_segments(). If it fails, or if more than the chosen segments are new, the
 *     sample has PCCE_SAMPLE_TRUNCATED, and the thread's next sample tries again.
 *
 * The functions believe nothing that the page says. They read each field of the head once, so
 * another thread may change it meanwhile. They read only in the page, and at most
 * PCCE_AREA_SEGMENTS segments from the address that the page names as its area. That address is the
 * program's choice. So `read` must refuse memory that the program itself cannot read.
 *
 * All functions are inline. They allocate nothing, take no lock, and have bounded loops. So they
 * may run in an NMI, in a signal handler and in BPF.
 */
#ifndef PCCE_PAGE_READER_H
#define PCCE_PAGE_READER_H

#include <pcce/abi.h>

#define PCCE_READER_INLINE __attribute__((always_inline)) static __inline__
#define PCCE_READER_BASE __builtin_offsetof(struct pcce_page, base)

/* Copies bytes from an address of the program. Returns 0 if not all of them can be read, or not
 * now; `to` is not used then. */
typedef int pcce_read_fn(void *to, __u64 from, __u64 bytes);

/* Where the encoding stack is. Addresses are the program's. */
struct pcce_page_stack {
	__u64 base;	 /* address of the current segment's base, which its entries follow */
	__u64 other;	 /* address of the base in the page's other half */
	__u64 area;	 /* address of segment 0; 0: some segments have no place there */
	__u64 below;	 /* generation of the newest complete segment; 0: not known, or none */
	__u32 upper;	 /* 0: the current segment is in the lower half */
	__u32 n_entries; /* in the current segment: at most PCCE_SEGMENT_ENTRIES */
	__u32 n_below;	 /* complete segments; the newest one has the index n_below - 1 */
	__u32 kept;	 /* 1: the newest complete segment is in the page's other half */
};

/* Consecutive segments to copy, the oldest first. BPF has 64-bit registers only, and checks of a
 * half of one tell its verifier little. So numbers of segments have 64 bits. */
struct pcce_chosen {
	__u64 first;  /* index of the first one */
	__u64 stored; /* number of those in the area */
	__u64 kept;   /* 1: after these, the one that the page keeps */
	__u64 last;   /* generation of the last one */
};

/* page: the address of the head in the program. */
PCCE_READER_INLINE int pcce_page_is_valid(const struct pcce_page *head, __u64 page)
{
	return page % PCCE_PAGE_ALIGN == 0 && head->magic == PCCE_PAGE_MAGIC &&
	       head->version == PCCE_PAGE_VERSION;
}

/* Returns whether a runtime sets such an off. */
PCCE_READER_INLINE int pcce_off_is_possible(__u32 off)
{
	return (off & ~(__u32)PCCE_OFF_HALF) <= PCCE_OFF_FULL &&
	       off % sizeof(struct pcce_entry) == 0;
}

/* Sets *s; `below` is 0. Returns 0, or PCCE_SAMPLE_READ_FAULT if the head is impossible: then the
 * stack is empty. */
PCCE_READER_INLINE __u32 pcce_page_describe(struct pcce_page_stack *s, const struct pcce_page *head,
					    __u64 page)
{
	__u64 position = *(const volatile __u64 *)&head->position;
	__u64 area = *(const volatile __u64 *)&head->area;
	__u32 off = (__u32)position, place = (__u32)(position >> 32), stored;

	*s = (struct pcce_page_stack){0};
	if (!pcce_off_is_possible(off))
		return PCCE_SAMPLE_READ_FAULT;
	s->upper = off & PCCE_OFF_HALF;
	s->base = page + PCCE_READER_BASE + s->upper;
	s->n_entries = (off & PCCE_OFF_USED) / sizeof(struct pcce_entry);
	s->n_below = place >> PCCE_PLACE_SHIFT;
	if (!s->n_below)
		return 0;
	s->other = page + PCCE_READER_BASE + (s->upper ^ PCCE_OFF_HALF);
	s->kept = (place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT;
	stored = s->n_below - s->kept;
	if (stored <= PCCE_AREA_CAPACITY(area) && stored <= PCCE_AREA_SEGMENTS)
		s->area = PCCE_AREA_ADDRESS(area);
	/* Nothing is sent of a stack that is deeper than its area. Otherwise the older segments
	 * would count as sent, and be missing when the stack is smaller again. Without an area
	 * there are none. */
	else if (area)
		s->kept = 0;
	return 0;
}

/* Returns the address of a segment in the area. It begins with its generation. */
PCCE_READER_INLINE __u64 pcce_stored_segment(const struct pcce_page_stack *s, __u64 index)
{
	return s->area + index * sizeof(struct pcce_segment);
}

/* Returns whether earlier samples have carried all below the current segment. sent: the highest
 * generation of the thread that they have carried; 0: none. */
PCCE_READER_INLINE int pcce_all_sent(const struct pcce_page_stack *s, __u64 sent)
{
	return s->below && (__s64)(s->below - sent) <= 0;
}

/*
 * Returns the index of the first of n segments that is not known, if the newest is not (n > 0).
 * Mostly only the newest one is new. So the search goes down from there, `near` segments one by
 * one, and continues by bisection. known(ctx, index) is called at most near + 17 times if n is at
 * most PCCE_AREA_SEGMENTS + 1.
 */
PCCE_READER_INLINE __u64 pcce_find_first_new(__u64 n, int near,
					     int (*known)(void *ctx, __u64 index), void *ctx)
{
	__u64 low = 0, high = n - 1;
	int i;

	for (i = 0; i < near && high; i++) {
		if (known(ctx, high - 1))
			return high;
		high--;
	}
	for (i = 0; i < 17 && low < high; i++) {
		__u64 middle = (low + high) / 2;

		if (known(ctx, middle))
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}

/* Chooses the segments from `first` on, at most max of them. Returns 0, or PCCE_SAMPLE_TRUNCATED if
 * there are more. Leaves out->last. */
PCCE_READER_INLINE __u32 pcce_choose_segments(struct pcce_chosen *out,
					      const struct pcce_page_stack *s, __u64 first,
					      __u64 max)
{
	out->first = first;
	if (s->n_below - first > max) {
		out->stored = max;
		out->kept = 0;
		return PCCE_SAMPLE_TRUNCATED;
	}
	out->stored = s->n_below - first - s->kept;
	out->kept = s->kept;
	return 0;
}

/* A search for the first segment that has not been sent. */
struct pcce_unsent {
	const struct pcce_page_stack *stack;
	pcce_read_fn *read;
	__u64 sent;	  /* see pcce_all_sent() */
	__u32 unreadable; /* 1: the search met a place that cannot be read now */
};

/* The search ends where nothing can be sent. */
PCCE_READER_INLINE int pcce_is_sent(void *ctx, __u64 index)
{
	struct pcce_unsent *u = (struct pcce_unsent *)ctx;
	__u64 generation = 0;

	u->unreadable |=
		!u->read(&generation, pcce_stored_segment(u->stack, index), sizeof(generation));
	return (__s64)(generation - u->sent) <= 0;
}

/*
 * Chooses the oldest segments that have not been sent, at most PCCE_SAMPLE_SEGMENTS of them, and
 * maybe none. Once they are copied, out->last is sent. Returns 0, or PCCE_SAMPLE_TRUNCATED if
 * others are missing.
 */
PCCE_READER_INLINE __u32 pcce_choose_unsent(struct pcce_chosen *out,
					    const struct pcce_page_stack *s, __u64 sent,
					    pcce_read_fn *read)
{
	struct pcce_unsent u = {.stack = s, .read = read, .sent = sent};
	__u64 first = s->n_below - 1, last = s->below;
	__u32 flags;

	*out = (struct pcce_chosen){.last = sent};
	if (!s->n_below || pcce_all_sent(s, sent))
		return 0;
	/* Without a generation, the segment never existed. */
	if (!s->below || (!s->area && !s->kept))
		return PCCE_SAMPLE_TRUNCATED;
	if (s->area)
		first = pcce_find_first_new(s->n_below, 1, pcce_is_sent, &u);
	flags = pcce_choose_segments(out, s, first, PCCE_SAMPLE_SEGMENTS);
	if (flags && !read(&last, pcce_stored_segment(s, first + out->stored - 1), sizeof(last)))
		u.unreadable = 1;
	if (u.unreadable)
		return PCCE_SAMPLE_TRUNCATED;
	out->last = last;
	return flags;
}

/* Copies the chosen segments. `to` has room for stored + kept of them. Returns 0 if one cannot be
 * read. */
PCCE_READER_INLINE int pcce_copy_segments(struct pcce_segment *to, const struct pcce_page_stack *s,
					  const struct pcce_chosen *chosen, pcce_read_fn *read)
{
	__u64 bytes = chosen->stored * sizeof(*to);

	if (bytes && !read(to, pcce_stored_segment(s, chosen->first), bytes))
		return 0;
	if (!chosen->kept)
		return 1;
	to += chosen->stored;
	to->generation = s->below;
	to->index = s->n_below - 1;
	return read((char *)to + __builtin_offsetof(struct pcce_segment, base), s->other,
		    sizeof(to->base) + sizeof(to->entry));
}

#endif

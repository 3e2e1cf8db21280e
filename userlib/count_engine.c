// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts entries into functions by their exact context, inside the program: the engines cct and
 * empty of pcce-record --count. include/pcce/counting.h says how they get there and where their
 * results are, and count_engine.h how the current stack is found.
 *
 * A signal handler may interrupt any instruction, and count: see count_stack.c. If it adds the same
 * counter as the interrupted code, there are two, and the reader adds them.
 */
#include "count_engine.h"

/* So that a handler finds out what it has interrupted. Returns what a handler, in which the thread
 * is, has interrupted. */
static inline uint32_t begin_place(struct thread *t, uint32_t place)
{
	uint32_t interrupted = t->place;

	t->place = place;
	__asm__ volatile("" ::: "memory");
	return interrupted;
}

static inline void end_place(struct thread *t, uint32_t interrupted)
{
	__asm__ volatile("" ::: "memory");
	t->place = interrupted;
}

/* Returns whether there was memory. */
static int count_at(struct thread *t, const struct pcce_page *p, const struct pcce_count_node *n,
		    uint32_t place)
{
	uint64_t key = (uint64_t)place << 32 | unit_number(n);
	struct pcce_count_counter *c = find_counter(t->counters, key, p->id, p->ext);

	if (!c) {
		c = new_unit(t, &t->counter_block, PCCE_COUNT_COUNTERS);
		if (!c)
			return 0;
		c->node = (uint32_t)key;
		c->id = p->id;
		c->ext = p->ext;
		__atomic_store_n(&c->place, place, __ATOMIC_RELEASE);
		add_to_index(&t->counters, c, COUNTERS);
	}
	c->count++;
	return 1;
}

KEEPS_REGISTERS __attribute__((noinline)) static void count_slowly(uint32_t place, uint32_t burst)
{
	struct pcce_page *p = page();
	struct thread *t = place ? find_thread(p) : NULL;
	struct pcce_count_node *n;
	uint32_t interrupted;

	if (t) {
		continue_counting(t, p, burst);
		interrupted = begin_place(t, place);
		n = find_stack(t, p, interrupted);
		if (!n || !count_at(t, p, n, place))
			lose();
		end_place(t, interrupted);
	} else {
		lose();
	}
}

/* What count() leaves over, because it does not happen at most calls. */
KEEPS_REGISTERS __attribute__((noinline)) static void count_more(uint32_t place, uint32_t burst)
{
	const struct pcce_page *p = page();
	const struct thread *t = (const struct thread *)p->counting;
	struct pcce_count_counter *c = NULL;
	const struct pcce_count_node *n;

	n = place && t ? remembered_stack(t, p, p->position) : NULL;
	if (n)
		c = find_counter(t->counters, (uint64_t)place << 32 | unit_number(n), p->id,
				 p->ext);
	if (c)
		c->count++;
	else
		count_slowly(place, burst);
}

static inline void count_entry(uint32_t place, uint32_t burst)
{
	const struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	struct pcce_count_counter *c = NULL;
	const struct pcce_count_node *n;
	uint32_t interrupted;

	if (t) {
		interrupted = begin_place(t, place);
		n = known_stack(t, p, p->position);
		if (n)
			c = find_counter(t->counters, (uint64_t)place << 32 | unit_number(n), p->id,
					 p->ext);
		if (c)
			c->count++;
		end_place(t, interrupted);
	}
	if (!c)
		count_more(place, burst);
}

/* Counts an entry into a function: place is 1 + the index of where it was entered; 0: it is
 * lost. */
KEEPS_REGISTERS void count(uint32_t place)
{
	count_entry(place, 0);
}

KEEPS_REGISTERS void count_burst(uint32_t place)
{
	uint32_t burst = current_burst();

	if (!burst)
		return;
	if (has_counted_in(burst))
		count_entry(place, burst);
	else
		count_slowly(place, burst);
}

KEEPS_REGISTERS void empty(uint32_t place)
{
	(void)place;
}

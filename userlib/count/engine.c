// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts entries into functions by their exact context, inside the program: the engines cct and
 * empty of pcce-record --count. include/pcce/counting.h says how they get there and where their
 * results are, and engine.h how the current stack is found.
 *
 * A signal handler may interrupt any instruction, and count: see stack.c. If it adds the same
 * counter as the interrupted code, there are two, and the reader adds them.
 */
#include "count/engine.h"

/* Returns whether it was counted: there was memory, and the state is that of the place. */
static int count_at(struct thread *t, const struct pcce_page *p, const struct pcce_count_node *n,
		    uint32_t place)
{
	struct pcce_count_counter *c = find_counter(t, p, n, place);

	if (c) {
		c->count += t->weight;
		return 1;
	}
	if (has_other_page(place))
		return 0;
	c = new_unit(t, &t->counter_block, PCCE_COUNT_COUNTERS);
	if (c)
		fill_counter(t, p, n, place, c, t->weight);
	return c != NULL;
}

KEEPS_REGISTERS __attribute__((noinline)) static void count_slowly(uint32_t place, uint32_t burst)
{
	struct pcce_page *p = page();
	struct thread *t = place && !is_shared(p) ? find_thread(p) : NULL;
	struct pcce_count_node *n;
	uint32_t begins;

	if (!t) {
		lose();
		return;
	}
	begins = config.every && t->burst != burst;
	/* What handlers count before the weight is known has no other one. */
	if (begins)
		t->weight = 1;
	continue_counting(t, p, burst);
	n = t->weight ? find_stack(t, p) : NULL;
	if (n && begins)
		t->weight = weigh_burst(t, p, n, place);
	if (t->weight && (!n || !count_at(t, p, n, place)))
		lose();
}

/* Counts if the thread has used the counter recently. weighted: with adaptive bursts. */
static ALWAYS_INLINE int count_recent(uint32_t place, int weighted)
{
	const struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	struct pcce_count_node **moved = NULL;
	struct pcce_count_counter *c = t ? recent_counter(t, p, place, &moved) : NULL;

	if (!c)
		return 0;
	if (moved) {
		*moved = unit(c->node);
		__asm__ volatile("" ::: "memory");
		/* A handler has made a larger shadow, from what was here before. */
		if (t->at + depth_at(p->position) != moved)
			return 0;
	}
	c->count += weighted ? t->weight : 1;
	return 1;
}

/* Counts if all of the stack but the newest entry is known, and the counter is there. */
static int count_known(uint32_t place)
{
	const struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	struct pcce_count_counter *c;
	const struct pcce_count_node *n;

	if (!t)
		return 0;
	n = known_stack(t, p);
	n = n ? n : remembered_stack(t, p);
	n = n ? n : pushed_stack(t, p);
	c = n ? find_counter(t, p, n, place) : NULL;
	if (c)
		c->count += t->weight;
	return c != NULL;
}

/* What count() leaves over, because it does not happen at most calls. */
KEEPS_REGISTERS __attribute__((noinline)) static void count_more(uint32_t place, uint32_t burst)
{
	if (!count_known(place))
		count_slowly(place, burst);
}

/* What count() leaves over: fast.S. */
KEEPS_REGISTERS void count_missed(void)
{
	const struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	uint32_t place = entered_place();
	struct pcce_count_counter *c = t ? recent_counter_at_start(t, p, place) : NULL;

	if (c)
		c->count++;
	else
		count_more(place, 0);
}

KEEPS_REGISTERS void count_burst(void)
{
	uint32_t place = entered_place(), burst = current_burst();

	if (!burst)
		return;
	if (!has_counted_in(burst))
		count_slowly(place, burst);
	else if (!count_recent(place, 0))
		count_more(place, burst);
}

KEEPS_REGISTERS void count_adaptive(void)
{
	uint32_t place = entered_place(), burst = current_burst();
	const struct thread *t;

	if (!burst)
		return;
	t = (const struct thread *)page()->counting;
	if (!t || t->burst != burst)
		count_slowly(place, burst);
	else if (t->weight && !count_recent(place, 1))
		count_more(place, burst);
}

KEEPS_REGISTERS void empty(void)
{
}

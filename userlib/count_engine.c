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

KEEPS_REGISTERS __attribute__((noinline)) static void count_slowly(uint32_t place)
{
	struct pcce_page *p = page();
	struct thread *t = place ? find_thread(p) : NULL;
	struct pcce_count_counter *c;
	struct pcce_count_node *n = NULL;
	uint64_t key;

	if (t) {
		continue_counting(t, p);
		n = find_stack(t, p);
	}
	if (!n) {
		lose();
		return;
	}
	key = (uint64_t)place << 32 | unit_number(n);
	c = find_counter(t->counters, key, p->id, p->ext);
	if (!c) {
		c = new_unit(t, &t->counter_block, PCCE_COUNT_COUNTERS);
		if (!c) {
			lose();
			return;
		}
		c->node = (uint32_t)key;
		c->id = p->id;
		c->ext = p->ext;
		__atomic_store_n(&c->place, place, __ATOMIC_RELEASE);
		add_to_index(&t->counters, c, COUNTERS);
	}
	c->count++;
}

/* What count() leaves over, because it does not happen at most calls. */
KEEPS_REGISTERS __attribute__((noinline)) static void count_more(uint32_t place)
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
		count_slowly(place);
}

static inline void count_entry(uint32_t place)
{
	const struct pcce_page *p = page();
	const struct thread *t = (const struct thread *)p->counting;
	const struct pcce_count_node *n = t ? known_stack(t, p, p->position) : NULL;
	struct pcce_count_counter *c;
	const struct index *x;
	uint32_t i;

	if (!n)
		goto more;
	x = t->counters;
	i = (uint32_t)(hash_counter((uint64_t)place << 32 | unit_number(n), p->id, p->ext) >>
		       x->shift);
	for (;; i = (i + 1) & x->mask) {
		if (!x->slot[i])
			goto more;
		c = unit(x->slot[i]);
		if (c->id == p->id && c->place == place && c->node == unit_number(n) &&
		    c->ext == p->ext)
			break;
	}
	c->count++;
	return;
more:
	count_more(place);
}

/* Counts an entry into a function: place is 1 + the index of where it was entered; 0: it is
 * lost. */
KEEPS_REGISTERS void count(uint32_t place)
{
	count_entry(place);
}

KEEPS_REGISTERS void count_burst(uint32_t place)
{
	if (in_same_burst())
		count_entry(place);
	else
		count_slowly(place);
}

KEEPS_REGISTERS void empty(uint32_t place)
{
	(void)place;
}

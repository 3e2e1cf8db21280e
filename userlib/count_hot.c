// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts entries into functions by their exact context, with a bounded number of counters: the
 * engine hcct of pcce-record --count. It is Space Saving with the lazy priority queue (Algorithm
 * 2) of "Mining hot calling contexts in small space", for each thread. The paper's cursor is not
 * needed: the node of the current stack is known (count_engine.h).
 *
 *   count - error <= true count <= count    of a context with a counter
 *   true count <= smallest count            of any other, if all counters are in use; else 0
 *
 * Counters change their contexts here, and nodes are used again. So a signal handler must not count
 * in what it interrupts. While a thread counts, its struct thread is *busy*, and a handler counts
 * in another one, `inner`. When the handler has returned, the first one goes on as before: all
 * functions that the handler called have ended, so the shadow is still right.
 *
 * If the handler leaves with a jump, the first one stays busy. The thread goes on with the inner
 * one. If that becomes busy, too, the first one is used again. If it was being changed, it is not
 * used any more.
 */
#include "count_engine.h"

#define LEFT_MAX 64 /* those of a thread that are not used any more */

/* thread.busy */
enum { IDLE, BUSY, BUSY_WITH_INNER };

static void begin(struct thread *t, uint64_t position)
{
	t->busy = BUSY;
	t->position = position;
	__asm__ volatile("" ::: "memory");
}

KEEPS_REGISTERS __attribute__((noinline)) static void end_after_inner(struct thread *t)
{
	struct pcce_page *p = page();
	uint32_t busy;
	uint8_t more;

	do {
		t->busy = BUSY;
		p->counting = (uint64_t)t;
		busy = BUSY;
		__asm__ volatile("cmpxchgl %3, %0"
				 : "+m"(t->busy), "+a"(busy), "=@ccnz"(more)
				 : "r"(IDLE)
				 : "memory");
	} while (more);
}

/* Each change of busy is one instruction, since a handler may come at any. */
static inline void end(struct thread *t)
{
	uint8_t more;

	__asm__ volatile("decl %0" : "+m"(t->busy), "=@ccnz"(more) : : "memory");
	if (more)
		end_after_inner(t);
}

static struct hot *new_hot(void)
{
	struct hot *h = take_memory(sizeof(*h) + config.counters * sizeof(h->counters[0]));

	if (h)
		h->capacity = config.counters;
	return h;
}

static struct thread *inner_of(struct thread *t, const struct pcce_page *p)
{
	if (!t->inner)
		t->inner = new_thread(p);
	return t->inner;
}

/* A handler has left t with a jump. NULL: no memory, or it happened too often. */
static struct thread *leave(struct thread *t, struct pcce_page *p)
{
	struct thread *inner;

	/* If the thread has several stacks, it may still come back. */
	if (!t->changes && !t->switched) {
		t->busy = IDLE;
		return t;
	}
	if (t->left == LEFT_MAX)
		return NULL;
	inner = inner_of(t, p);
	if (inner) {
		inner->left = t->left + 1;
		inner->switched |= t->switched;
		p->counted = (uint64_t)inner;
	}
	return inner;
}

/* One of the thread's that is not busy. It is busy now. */
static struct thread *find_idle_thread(struct pcce_page *p)
{
	struct thread *t = find_thread(p);

	/* The runtime clears it when the stack is switched. */
	if (t && !p->counting && t->hot)
		t->switched = 1;
	while (t && t->busy) {
		if (t == (struct thread *)p->counted && was_left(p, t->position)) {
			t = leave(t, p);
		} else {
			t->busy = BUSY_WITH_INNER;
			t = inner_of(t, p);
		}
	}
	/* Threads that share the last number cannot be told apart. */
	if (!t || t->number == PCCE_COUNT_THREADS - 1)
		return NULL;
	begin(t, p->position);
	t->changes = 1;
	if (!t->hot)
		t->hot = new_hot();
	if (t->hot)
		return t;
	end(t);
	return NULL;
}

static struct pcce_count_hot_counter *counter_at(const struct hot *h, uint32_t i)
{
	return unit(h->counters[i]);
}

/* As lib/hot/lazy_queue.h. */
static struct pcce_count_hot_counter *smallest_counter(struct hot *h)
{
	while (h->at < h->n && counter_at(h, h->at)->counter.count != h->min)
		h->at++;
	if (h->at == h->n) {
		h->at = 0;
		for (uint32_t i = 1; i < h->n; i++)
			if (counter_at(h, i)->counter.count < counter_at(h, h->at)->counter.count)
				h->at = i;
		h->min = counter_at(h, h->at)->counter.count;
	}
	return counter_at(h, h->at);
}

/* A counter for a context that has none; NULL: no memory. */
static struct pcce_count_hot_counter *take_hot_counter(struct thread *t)
{
	struct pcce_count_hot_counter *c;
	struct hot *h = t->hot;

	if (h->n < h->capacity) {
		c = new_unit(t, &t->counter_block, PCCE_COUNT_HOT_COUNTERS);
		if (c)
			h->counters[h->n++] = unit_number(c);
		return c;
	}
	c = smallest_counter(h);
	remove_from_index(t->counters, c, COUNTERS);
	c->counter.place = 0;
	c->error = c->counter.count;
	release_node(t, unit(c->counter.node));
	return c;
}

/* Returns whether it was counted. */
static int count_in(struct thread *t, struct pcce_page *p, uint32_t place)
{
	struct pcce_count_hot_counter *c;
	struct pcce_count_node *n;
	uint64_t key;

	continue_counting(t, p);
	n = find_stack(t, p);
	if (!n)
		return 0;
	key = (uint64_t)place << 32 | unit_number(n);
	c = (struct pcce_count_hot_counter *)find_counter(t->counters, key, p->id, p->ext);
	if (!c) {
		c = take_hot_counter(t);
		if (!c)
			return 0;
		keep_node(t, n);
		c->counter.node = unit_number(n);
		c->counter.id = p->id;
		c->counter.ext = p->ext;
		c->counter.count++;
		__atomic_store_n(&c->counter.place, place, __ATOMIC_RELEASE);
		add_to_index(&t->counters, c, COUNTERS);
		return 1;
	}
	c->counter.count++;
	return 1;
}

KEEPS_REGISTERS __attribute__((noinline)) static void count_slowly(uint32_t place)
{
	struct pcce_page *p = page();
	struct thread *t = place ? find_idle_thread(p) : NULL;

	if (!t || !count_in(t, p, place))
		lose();
	if (t) {
		t->changes = 0;
		end(t);
	}
}

/* What count_hot() leaves over, because it does not happen at most calls. */
KEEPS_REGISTERS __attribute__((noinline)) static void count_more(uint32_t place)
{
	const struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	struct pcce_count_counter *c = NULL;
	const struct pcce_count_node *n;

	if (t && !t->busy) {
		begin(t, p->position);
		n = p->counting == (uint64_t)t ? remembered_stack(t, p, p->position) : NULL;
		if (n)
			c = find_counter(t->counters, (uint64_t)place << 32 | unit_number(n), p->id,
					 p->ext);
		if (c)
			c->count++;
		end(t);
	}
	if (!c)
		count_slowly(place);
}

static inline void count_hot_entry(uint32_t place)
{
	const struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	struct pcce_count_counter *c = NULL;
	const struct pcce_count_node *n;
	uint64_t position = p->position;

	if (!t || t->busy)
		goto more;
	begin(t, position);
	/* A handler may have counted on another stack before that. */
	n = p->counting == (uint64_t)t ? known_stack(t, p, position) : NULL;
	if (n)
		c = find_counter(t->counters, (uint64_t)place << 32 | unit_number(n), p->id,
				 p->ext);
	if (c)
		c->count++;
	end(t);
	if (c)
		return;
more:
	count_more(place);
}

/* As count(). */
KEEPS_REGISTERS void count_hot(uint32_t place)
{
	count_hot_entry(place);
}

KEEPS_REGISTERS void count_hot_burst(uint32_t place)
{
	if (in_same_burst())
		count_hot_entry(place);
	else
		count_slowly(place);
}

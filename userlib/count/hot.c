// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts entries into functions by their exact context, with a few counters that are used again:
 * the engines hcct and lossy of pcce-record --count. hcct is Space Saving with the lazy priority
 * queue (Algorithm 2) of "Mining hot calling contexts in small space", for each thread. lossy
 * differs in which counters are used again, and when: lossy.c. The paper's cursor is not
 * needed: the node of the current stack is known (engine.h).
 *
 * Let low be count - others (struct pcce_count_hot_counter). With Space Saving, others and error
 * are both the count of the counter when its context took it over.
 *
 *   low <= true count <= low + error   of a context with a counter
 *   true count <= largest error        of any other
 *
 * Counters change their contexts here, and nodes are used again. So a signal handler must not count
 * in what it interrupts. While a thread counts, its struct thread is *busy*, and a handler counts
 * in another one, `inner`. When the handler has returned, the first one goes on as before: all
 * functions that the handler called have ended, so the shadow is still right.
 *
 * If the handler leaves with a jump, the first one stays busy. It is used again when the function
 * that was counted has ended, unless its counters were being changed. Then it is not used any more.
 */
#include "count/engine.h"

#define THREADS_MAX 100 /* struct thread of one thread; beyond, it loses its counts */

/*
 * thread.state is what says that the thread is busy, and where. It is one word, since a handler may
 * come at any instruction: pcce_page.position, whose lowest bits are 0, and one of these. After a
 * count the position remains, but has no meaning.
 */
enum { IDLE, BUSY, BUSY_WITH_INNER, BUSY_MASK };

static uint32_t busy(const struct thread *t)
{
	return (uint32_t)t->state & BUSY_MASK;
}

static inline void begin(struct thread *t, uint64_t position)
{
	__asm__ volatile("" ::: "memory");
	t->state = (position & ~(uint64_t)BUSY_MASK) | BUSY;
	__asm__ volatile("" ::: "memory");
}

KEEPS_REGISTERS void end_after_inner(struct thread *t)
{
	struct pcce_page *p = page();
	uint64_t before, now;
	uint8_t changed;

	do {
		before = (t->state & ~(uint64_t)BUSY_MASK) | BUSY;
		now = before - BUSY;
		t->state = before;
		p->counting = (uint64_t)t;
		__asm__ volatile("cmpxchgq %3, %0"
				 : "+m"(t->state), "+a"(before), "=@ccnz"(changed)
				 : "r"(now)
				 : "memory");
	} while (changed);
}

/* If the inner one has counted meanwhile, the thread is still busy after the first instruction. */
static inline void end(struct thread *t)
{
	__asm__ volatile("decl %0" : "+m"(t->state) : : "memory", "cc");
	if (busy(t))
		end_after_inner(t);
}

static struct hot *new_hot(void)
{
	uint64_t counters = config.lossy ? 0 : config.counters;
	struct hot *h = take_memory(sizeof(*h) + counters * sizeof(h->counters[0]));

	if (h)
		h->capacity = config.counters;
	return h;
}

/* Can it be used? A thread with several stacks may come back to what it has left. */
static int is_usable(const struct thread *t, const struct pcce_page *p)
{
	if (t->changes)
		return 0;
	return !busy(t) || (!t->switched && was_left(p, t->state & ~(uint64_t)BUSY_MASK));
}

/* One of the thread's that can be used, made if there is none. NULL: no memory, or too many. */
static struct thread *find_usable_thread(struct pcce_page *p)
{
	struct thread *first = find_thread(p), *t;
	int n = 0;

	/* The runtime clears it when the stack is switched. */
	if (first && !p->counting && first->hot)
		first->switched = 1;
	for (t = first; t && !is_usable(t, p); t = t->inner) {
		if (busy(t))
			t->state = (t->state & ~(uint64_t)BUSY_MASK) | BUSY_WITH_INNER;
		if (!t->inner && n < THREADS_MAX)
			t->inner = new_thread(p);
		if (t->inner)
			t->inner->switched |= t->switched;
		n++;
	}
	return t;
}

/* Finds the calling thread, and marks it as busy until end_changes(). NULL: it cannot count now. */
static struct thread *begin_changes(struct pcce_page *p)
{
	struct thread *t = find_usable_thread(p);

	/* Threads that share the last number cannot be told apart. */
	if (!t || t->number == PCCE_COUNT_THREADS - 1)
		return NULL;
	begin(t, p->position);
	t->changes = 1;
	if (!t->hot) {
		t->hot = new_hot();
		t->left = (uint32_t)config.counters;
	}
	return t;
}

static void end_changes(struct thread *t)
{
	t->changes = 0;
	end(t);
}

static struct pcce_count_hot_counter *counter_at(const struct hot *h, uint32_t i)
{
	return unit(h->counters[i]);
}

/*
 * Returns a smallest counter: the lazy priority queue. `min` is the minimum, and no counter before
 * `at` has it. Both may be out of date when a counter grows, so an increment costs nothing. The
 * search goes on from `at`, and a new minimum is computed only if no counter has the old one. With
 * increments of 1 this takes constant amortized time.
 */
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

	if (!h->capacity)
		return NULL; /* zeros: a handler has forked, and this is the child */
	if (h->n < h->capacity) {
		c = new_unit(t, &t->counter_block, PCCE_COUNT_HOT_COUNTERS);
		if (c)
			h->counters[h->n++] = unit_number(c);
		return c;
	}
	c = smallest_counter(h);
	if (!h->capacity)
		return NULL; /* the same */
	remove_from_index(t->counters, c, COUNTERS);
	c->counter.place = 0;
	c->others = c->error = c->counter.count;
	release_node(t, unit(c->counter.node));
	return c;
}

/* A call of the bucket is over. It is counted before that, so a bucket never has fewer calls. */
static inline void use_up(struct thread *t)
{
	__asm__ volatile("" ::: "memory");
	t->left--;
}

/* Returns whether it was counted. */
static int count_in(struct thread *t, struct pcce_page *p, uint32_t place, uint32_t burst)
{
	struct pcce_count_hot_counter *taken;
	struct pcce_count_counter *c;
	struct pcce_count_node *n;

	continue_counting(t, p, burst);
	if (config.lossy && t->hot && !t->left)
		begin_bucket(t);
	n = t->hot ? find_stack(t, p) : NULL;
	if (!n)
		return 0;
	c = find_counter(t, p, n, place);
	if (c) {
		c->count++;
		use_up(t);
		return 1;
	}
	if (has_other_page(place) || !make_room(&t->counters, COUNTERS))
		return 0;
	taken = config.lossy ? take_lossy_counter(t) : take_hot_counter(t);
	if (!taken)
		return 0;
	keep_node(t, n);
	fill_counter(t, p, n, place, &taken->counter, 1);
	use_up(t);
	return 1;
}

KEEPS_REGISTERS __attribute__((noinline)) static void count_slowly(uint32_t place, uint32_t burst)
{
	struct pcce_page *p = page();
	struct thread *t = place && !is_shared(p) ? begin_changes(p) : NULL;

	if (!t || !count_in(t, p, place, burst))
		lose();
	if (t)
		end_changes(t);
	else
		p->counting = 0; /* what it names has missed an entry */
}

/* What the fast way has to know. */
enum policy { SPACE_SAVING, LOSSY };

/* The thread must be busy. */
static void move_to(struct thread *t, struct pcce_count_node **place, struct pcce_count_node *n)
{
	t->changes = 1;
	__asm__ volatile("" ::: "memory");
	name_node(t, place, n);
	__asm__ volatile("" ::: "memory");
	t->changes = 0;
}

/* The counter of the current context, if it is no recent one. NULL: the stack is not known, or it
 * has no counter. */
static ALWAYS_INLINE struct pcce_count_counter *
known_counter(struct thread *t, const struct pcce_page *p, uint32_t place, int more)
{
	const struct pcce_count_node *n = known_stack(t, p);

	n = n || !more ? n : remembered_stack(t, p);
	return n ? find_counter(t, p, n, place) : NULL;
}

/* Counts if the stack and the counter are known, and the bucket has not ended. more: not only if
 * the thread has used the counter recently. */
static ALWAYS_INLINE int count_hot_known(uint32_t place, int more, enum policy policy)
{
	struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	struct pcce_count_counter *c = NULL;
	struct pcce_count_node **moved = NULL;
	uint64_t position = p->position;

	/* No segments: this is a forked child, and all is zeros. */
	if (!t || busy(t) || !t->segments || (policy == LOSSY && !t->left))
		return 0;
	begin(t, position);
	/* A handler may have counted on another stack before that. */
	if (p->counting == (uint64_t)t)
		c = recent_counter(t, p, place, &moved);
	if (!c && more && p->counting == (uint64_t)t)
		c = recent_counter_at_start(t, p, place);
	if (moved && more)
		move_to(t, moved, unit(c->node));
	else if (moved)
		c = NULL;
	else if (!c && p->counting == (uint64_t)t)
		c = known_counter(t, p, place, more);
	if (c)
		c->count++;
	if (c && policy == LOSSY)
		use_up(t);
	end(t);
	return c != NULL;
}

/* What is left over, because it does not happen at most calls. */
KEEPS_REGISTERS __attribute__((noinline)) static void count_more(uint32_t place, uint32_t burst)
{
	if (!count_hot_known(place, 1, config.lossy ? LOSSY : SPACE_SAVING))
		count_slowly(place, burst);
}

static ALWAYS_INLINE void count_policy_burst(enum policy policy)
{
	uint32_t place = entered_place(), burst = current_burst();

	if (!burst)
		return;
	if (!has_counted_in(burst))
		count_slowly(place, burst);
	else if (!count_hot_known(place, 0, policy))
		count_more(place, burst);
}

/* What count_hot() leaves over: fast.S. */
KEEPS_REGISTERS void count_hot_missed(void)
{
	count_more(entered_place(), 0);
}

KEEPS_REGISTERS void count_hot_burst(void)
{
	count_policy_burst(SPACE_SAVING);
}

KEEPS_REGISTERS void count_lossy(void)
{
	uint32_t place = entered_place();

	if (!count_hot_known(place, 0, LOSSY))
		count_more(place, 0);
}

KEEPS_REGISTERS void count_lossy_burst(void)
{
	count_policy_burst(LOSSY);
}

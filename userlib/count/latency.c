// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Times the executions of functions, by context: pcce-record --latency.
 *
 * Only entries of these functions come here, so nothing is known of what was pushed in between. The
 * entries of the current segment are compared with the nodes that the thread remembers. What is
 * below is named by the segment's base.
 *
 * Each thread has a stack of *open calls*. An entry adds one: where the return address is, and the
 * stub of the after-slot to which it leads. The stub comes here when the call has returned. If the
 * stack pointer and the stub are those of an open call, that is the one that has ended.
 *
 * Calls that end in another way remain. None of them may be taken for a later call that is not
 * timed, and returns to the same place with the same stack pointer. So when a jump or an exception
 * has landed, the calls below that stack pointer lose their stubs. If the thread has changed to
 * another encoding stack, all do.
 *
 * A signal handler may come at any instruction. Its calls are above those of the interrupted code,
 * and gone when it returns. An open call is claimed first, and has its stub last.
 */
#include "count/engine.h"

#define OPEN_FIRST 256 /* open calls of a thread */
#define OPEN_MAX 65536
#define GIVEN_UP 1 /* in place of a stub */

static inline uint64_t read_clock(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* ---- contexts -------------------------------------------------------------------- */

static int is_node_at(const struct pcce_count_node *n, const struct pcce_entry *e,
		      const struct pcce_count_node *parent)
{
	return n && n->id == e->id && !((n->site ^ e->site) & ~PCCE_COUNT_UNTRUSTED) &&
	       n->parent_address == (uint64_t)parent;
}

/* The node of the current stack, if all its entries are those that the thread remembers. */
static const struct pcce_count_node *remembered_entries(const struct thread *t,
							const struct pcce_page *p)
{
	uint64_t position = p->position, n = (position & PCCE_OFF_USED) / sizeof(struct pcce_entry);
	uint64_t segment = position >> (32 + PCCE_PLACE_SHIFT);
	const struct pcce_entry *base = current_base(p, position);
	struct pcce_count_node **at = t->at, *node;

	if (!at || segment >= t->segments || n > PCCE_SEGMENT_ENTRIES)
		return NULL;
	at += segment * PCCE_SEGMENT_ENTRIES;
	node = at[0];
	if (!node || (segment && (!t->below_generation || base->id != t->below_generation ||
				  node != t->below)))
		return NULL;
	for (uint64_t i = 1; i <= n; i++) {
		if (!is_node_at(at[i], &base[i], node))
			return NULL;
		node = at[i];
	}
	return node;
}

static const struct pcce_count_node *find_all_entries(struct thread *t, const struct pcce_page *p)
{
	uint64_t segment = p->position >> (32 + PCCE_PLACE_SHIFT);
	const struct pcce_count_node *n;
	struct pcce_count_node **at;

	t->trusted = 0;
	n = find_stack(t, p);
	at = t->at;
	if (n && at && segment && segment < t->segments && at[segment * PCCE_SEGMENT_ENTRIES])
		remember_below(t, p, at[segment * PCCE_SEGMENT_ENTRIES]);
	return n;
}

static struct pcce_count_counter *new_counter(struct thread *t, const struct pcce_page *p,
					      const struct pcce_count_node *n, uint32_t place)
{
	struct pcce_count_timed_counter *c =
		new_unit(t, &t->counter_block, PCCE_COUNT_TIMED_COUNTERS);

	if (!c)
		return NULL;
	c->min = ~0ULL;
	fill_counter(t, p, n, place, &c->counter, 1);
	return &c->counter;
}

/* Counts the entry, and returns its counter. NULL: it is lost. */
static struct pcce_count_counter *count_entry(struct thread *t, const struct pcce_page *p,
					      uint32_t place)
{
	const struct pcce_count_node *n = remembered_entries(t, p);
	struct pcce_count_counter *c;

	if (!n)
		n = find_all_entries(t, p);
	if (!n)
		return NULL;
	c = recent_place(t, p, place)->counter;
	if (!c || !has_context(c, p, place) || c->node != unit_number(n))
		c = find_counter(t, p, n, place);
	if (!c)
		return new_counter(t, p, n, place);
	c->count++;
	return c;
}

/* ---- open calls ------------------------------------------------------------------ */

/*
 * If a handler has forked, all is zeros in the child, also what lies below the first open call. So
 * each of the two ends is loaded once, the lower one first. The newest call changes only if it is
 * still the same.
 */
static struct open_call *lowest_call(const struct thread *t)
{
	return __atomic_load_n(&t->open_first, __ATOMIC_ACQUIRE);
}

static struct open_call *newest_call(const struct thread *t)
{
	return __atomic_load_n(&t->open, __ATOMIC_ACQUIRE);
}

static int change_newest(struct thread *t, struct open_call *before, struct open_call *now)
{
	uint8_t done;

	__asm__ volatile("cmpxchgq %3, %0"
			 : "+m"(t->open), "+a"(before), "=@ccz"(done)
			 : "r"(now)
			 : "memory");
	return done;
}

/* The newest call whose return address is not below a stack pointer. NULL: there is none. */
static struct open_call *find_call(const struct thread *t, uint64_t sp)
{
	const struct open_call *first = lowest_call(t);
	struct open_call *c = newest_call(t);

	while (c > first && c->sp < sp)
		c--;
	return c > first ? c : NULL;
}

static void count_left(struct open_call *c)
{
	struct pcce_count_timed_counter *counter = c->counter;

	if (c->sp && c->stub != GIVEN_UP && counter)
		counter->left++;
}

/* Removes the newest calls that are above this one. */
static void leave_calls(struct thread *t, const struct open_call *last)
{
	struct open_call *c;

	while ((c = newest_call(t)) > last) {
		count_left(c);
		c->sp = 0;
		change_newest(t, c, c - 1);
	}
}

/* The ends of calls below a stack pointer will not be seen, or would be wrong. */
static void give_up_calls(struct thread *t, uint64_t sp)
{
	const struct open_call *first = lowest_call(t);
	struct open_call *last = find_call(t, sp), *c;

	leave_calls(t, last ? last : first);
	for (c = newest_call(t); first && c > first; c--) {
		if (c->sp < sp) {
			count_left(c);
			c->stub = GIVEN_UP;
		}
	}
}

/* Gives the thread room for more. If there are too many, all are left. */
static int make_open_room(struct thread *t)
{
	struct open_call *first = lowest_call(t), *newest = newest_call(t), *calls;
	uint64_t used = newest > first ? (uint64_t)(newest - first) : 0, size = OPEN_FIRST;

	if (newest && newest + 1 < t->open_end)
		return 1;
	/* A handler has forked, and this is the child: new memory would be that of the thread. */
	if (!t->segments)
		return 0;
	while (size < 2 * (used + 1))
		size *= 2;
	calls = size <= OPEN_MAX ? take_memory(size * sizeof(*calls)) : NULL;
	if (!calls && newest)
		leave_calls(t, first);
	if (!calls)
		return newest != NULL;
	for (uint64_t i = 1; i <= used; i++)
		calls[i] = first[i];
	/* Other calls than timed ones mostly need no more than this comparison: latency_end. */
	calls[0].sp = ~0ULL;
	/* What a handler opens in between is not found again. */
	t->open_end = NULL;
	t->open_first = calls;
	__atomic_store_n(&t->open, calls + used, __ATOMIC_RELEASE);
	t->open_end = calls + size;
	return 1;
}

/* The stub of the after-slot at a return address; 0: it has none. */
static uint64_t stub_at(uint64_t address)
{
	const uint8_t *code = (const uint8_t *)address;
	uint64_t stub;
	int32_t distance;

	if (address < config.text || address + 5 > config.text_end || code[0] != 0xe9)
		return 0;
	__builtin_memcpy(&distance, code + 1, sizeof(distance));
	stub = address + 5 + (uint64_t)(int64_t)distance;
	return stub >= config.ends && stub < config.ends_end ? stub : 0;
}

/* at: where the return address is. The call that was open there before has ended unseen, as its
 * return address is gone. */
static void open_call(struct thread *t, const uint64_t *at, uint64_t stub,
		      struct pcce_count_timed_counter *counter)
{
	uint64_t sp = (uint64_t)at;
	struct open_call *c = find_call(t, sp);

	if (c && c->sp == sp)
		leave_calls(t, c - 1);
	c = make_open_room(t) ? newest_call(t) : NULL;
	if (!c || !change_newest(t, c, c + 1)) {
		counter->left++;
		return;
	}
	c++;
	c->stub = 0;
	c->counter = counter;
	__atomic_store_n(&c->sp, sp, __ATOMIC_RELEASE);
	c->begin = read_clock();
	__atomic_store_n(&c->stub, stub, __ATOMIC_RELEASE);
}

/* ---- the engine ------------------------------------------------------------------ */

/* The thread, whose open calls and shadow belong to the current stack. NULL: it cannot be timed. */
static struct thread *timed_thread(struct pcce_page *p)
{
	struct thread *t = (struct thread *)p->counting;

	if (t && t->segments)
		return t;
	t = is_shared(p) ? NULL : find_thread(p);
	if (!t)
		return NULL;
	give_up_calls(t, ~0ULL);
	continue_counting(t, p, 0);
	return t;
}

/* A function was entered: entered_place(). at: where its return address is. */
void begin_latency(const uint64_t *at)
{
	struct pcce_page *p = page();
	struct thread *t = timed_thread(p);
	struct pcce_count_counter *c = t ? count_entry(t, p, entered_place()) : NULL;
	uint64_t stub = stub_at(*at);

	if (!c)
		lose();
	else if (!stub)
		((struct pcce_count_timed_counter *)c)->no_end++;
	else
		open_call(t, at, stub, (struct pcce_count_timed_counter *)c);
}

static void count_bucket(struct thread *t, struct pcce_count_timed_counter *c, uint32_t bucket)
{
	uint32_t *at = &c->buckets[bucket / PCCE_DURATION_GROUP], none = 0;
	uint64_t *counts;

	if (!*at) {
		counts = new_unit(t, &t->bucket_block, PCCE_COUNT_BUCKETS);
		if (!counts)
			return;
		/* A handler in between has made it itself. */
		__atomic_compare_exchange_n(at, &none, unit_number(counts), 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	}
	counts = unit(*at);
	counts[bucket % PCCE_DURATION_GROUP]++;
}

static void end_call(struct thread *t, struct pcce_count_timed_counter *c, uint64_t cycles)
{
	uint64_t ns = (uint64_t)((unsigned __int128)cycles * config.cycle >> 32);

	c->ended++;
	c->sum += ns;
	if (ns < c->min)
		c->min = ns;
	if (ns > c->max)
		c->max = ns;
	count_bucket(t, c, pcce_duration_bucket(ns));
}

/* A call has returned to an after-slot. sp: where its return address was. stub: of the slot. */
void end_latency(uint64_t sp, uint64_t stub)
{
	uint64_t now = read_clock();
	struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;
	struct open_call *c = t && !is_shared(p) ? find_call(t, sp) : NULL;
	struct pcce_count_timed_counter *counter;
	uint64_t begin;

	if (!c || c->sp != sp)
		return;
	begin = c->begin;
	counter = c->stub == stub ? c->counter : NULL;
	leave_calls(t, counter ? c : c - 1);
	if (!counter)
		return;
	c->sp = 0;
	change_newest(t, c, c - 1);
	end_call(t, counter, now - begin);
}

/* A jump or an exception has landed. */
void jump_latency(uint64_t sp)
{
	struct pcce_page *p = page();
	struct thread *t = (struct thread *)p->counting;

	if (t && !is_shared(p))
		give_up_calls(t, sp);
}

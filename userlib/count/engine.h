/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares what the counting engines of pcce-record --count share: engine.c, with the exact
 * calling context tree, and hot.c, with a few counters that are used again.
 *
 * They are no part of the runtime: they are linked alone, at address 0, without any library, and
 * moved to the program as they are. They use general registers only, no C library, no system call,
 * no lock.
 *
 * A context is (encoding stack, function, id, ext). The stack is a node. For each depth a thread
 * remembers the node that the stack had there last, in its *shadow*. So finding the node of the
 * current stack is one comparison with the top entry. An entry into a function is counted when all
 * that its caller pushed is on the stack. So shadow[d] is right under these conditions:
 *
 *  1. The top entry, number d, was pushed by the code of the executable, or of a library that is
 *     counted. The function that pushed it was entered at depth d - 1, and that entry was counted.
 *     It has set shadow[d - 1].
 *  2. node->parent is shadow[d - 1], and id and site are those of the entry.
 *
 * Special entries, and entries of other modules, are pushed without that. Their nodes have a site
 * that no entry has, so they always take the slow way. It checks them, and one entry below. The
 * last entry of a segment can be counted up, so an entry above it takes the slow way, too. If the
 * thread changes to another encoding stack, the runtime clears pcce_page.counting, and the whole
 * stack is checked.
 */
#ifndef PCCE_COUNT_ENGINE_H
#define PCCE_COUNT_ENGINE_H

/* What fast.S has to know of the structures below, and of those in counting.h. */
#define CONFIG_AREA 0
#define CONFIG_TPOFF 72
#define AREA_ROOT 64
#define COUNTER_NODE 0
#define COUNTER_PLACE 4
#define COUNTER_COUNT 8
#define COUNTER_ID 16
#define COUNTER_EXT 24
#define NODE_ID 8
#define NODE_SITE 16
#define NODE_PARENT 24
#define NODE_USES 32 /* not of the root */
#define THREAD_AT 8
#define THREAD_STATE 24
#define THREAD_TRUSTED 32
#define THREAD_RECENT 48
#define THREAD_RECENT_MASK 56
#define THREAD_OPEN 64
#define OPEN_SP 0
#define RECENT_POSITION 0
#define RECENT_DEPTH 8
#define RECENT_COUNTER 16
#define RECENT_SIZE 32
#define HASH_PLACE 0x1b873593
#define HASH_RECENT 0x7feb352d
#define HASH_SHIFT 13

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>
#include <pcce/counting.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* It saves the registers that it changes. */
#define KEEPS_REGISTERS __attribute__((no_caller_saved_registers))

struct index {
	uint32_t shift; /* of a hash: 64 - log(slots) */
	uint32_t mask;
	uint32_t used;
	uint32_t slot[]; /* numbers of units; 0: none */
};

/* at[0] is the root. at[-1] is 0, like the root's parent_address. */
struct shadow {
	uint64_t segments;
	uint64_t none;
	struct pcce_count_node *at[];
};

/* What a thread counts in, if its counters are used again. */
struct hot {
	uint32_t capacity;   /* of Space Saving: counters; of Lossy Counting: calls of a bucket */
	uint32_t free_nodes; /* number of the first free node; 0: none */
	/* Lossy Counting has: */
	uint32_t free_counters; /* number of the first free counter; 0: none */
	uint64_t buckets;	/* buckets that have ended */
	uint64_t removed;	/* the most that a context had when its counter was freed */
	/* Space Saving has: */
	uint64_t min; /* the smallest count when it was last computed */
	uint32_t at;  /* no counter before this one has the value min */
	uint32_t n;
	uint32_t counters[]; /* numbers of units */
};

/* Two words that change together: by one instruction, so a handler sees both or none. */
struct pair {
	uint64_t first, second;
} __attribute__((aligned(16)));

static inline int replace_pair(struct pair *p, struct pair before, struct pair after)
{
	uint8_t done;

	__asm__ volatile("cmpxchg16b %0"
			 : "+m"(*p), "=@ccz"(done), "+a"(before.first), "+d"(before.second)
			 : "b"(after.first), "c"(after.second)
			 : "memory");
	return done;
}

/* A counter that was used recently. It may have become that of another context. */
struct recent {
	/* The position of the stack, and its depth times 8. NO_POSITION: not known, or the shadow
	 * has it not. */
	struct pair position;
	struct pcce_count_counter *counter;
	uint64_t reserved;
};

#define NO_POSITION (~0ULL)

struct thread {
	uint64_t segments;	     /* of the shadow; 0 after a fork */
	struct pcce_count_node **at; /* the shadow's */
	struct index *counters;
	uint64_t state;	  /* see hot.c */
	uint32_t trusted; /* 0: the whole stack must be checked */
	uint32_t number;
	/* Recent counters, by recent_place(): bytes from this structure to the first struct recent,
	 * and a mask for bytes from there. */
	struct pair recent;
	struct open_call *open; /* the newest one; NULL: there is no memory for them yet */
	struct shadow *shadow;
	struct index *nodes;
	struct pcce_count_block *node_block, *counter_block;
	uint32_t burst; /* pcce_count_area.burst when it counted last */
	/* The stack below the current segment: its generation and its node. */
	uint64_t below_generation;
	struct pcce_count_node *below;
	/* If counters are used again: */
	struct hot *hot;
	struct thread *inner; /* for handlers that interrupt this one while it counts */
	uint32_t changes;     /* its counters and nodes are being changed */
	uint32_t switched;    /* the thread has had several stacks */
	uint32_t left;	      /* calls of the bucket, if there are buckets */
	/* The exact engine has: */
	uint32_t weight;     /* a call's; 0: the burst is skipped. 1 without adaptive bursts */
	struct begun *begun; /* see adaptive.c */
	/* Of --latency: below the first call, and behind the last one that there is room for. */
	struct open_call *open_first, *open_end;
	struct pcce_count_block *bucket_block;
};

/* An execution that is being timed: see latency.c. */
struct open_call {
	uint64_t sp;	/* where its return address is. 0: this is not in use yet */
	uint64_t stub;	/* where it ends; 0: this is not complete */
	uint64_t begin; /* time stamp counter */
	struct pcce_count_timed_counter *counter;
};

#define ASSERT_AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), "fast.S knows it")
ASSERT_AT(pcce_count_config, area, CONFIG_AREA);
ASSERT_AT(pcce_count_config, tpoff, CONFIG_TPOFF);
ASSERT_AT(pcce_count_area, root, AREA_ROOT);
ASSERT_AT(pcce_count_counter, node, COUNTER_NODE);
ASSERT_AT(pcce_count_counter, place, COUNTER_PLACE);
ASSERT_AT(pcce_count_counter, count, COUNTER_COUNT);
ASSERT_AT(pcce_count_counter, id, COUNTER_ID);
ASSERT_AT(pcce_count_counter, ext, COUNTER_EXT);
ASSERT_AT(pcce_count_node, id, NODE_ID);
ASSERT_AT(pcce_count_node, site, NODE_SITE);
ASSERT_AT(pcce_count_node, parent_address, NODE_PARENT);
ASSERT_AT(pcce_count_hot_node, uses, NODE_USES);
ASSERT_AT(thread, at, THREAD_AT);
ASSERT_AT(thread, state, THREAD_STATE);
ASSERT_AT(thread, trusted, THREAD_TRUSTED);
ASSERT_AT(thread, recent, THREAD_RECENT);
ASSERT_AT(thread, recent.second, THREAD_RECENT_MASK);
ASSERT_AT(thread, open, THREAD_OPEN);
ASSERT_AT(open_call, sp, OPEN_SP);
ASSERT_AT(recent, position, RECENT_POSITION);
ASSERT_AT(recent, position.second, RECENT_DEPTH);
ASSERT_AT(recent, counter, RECENT_COUNTER);
_Static_assert(sizeof(struct recent) == RECENT_SIZE, "the same");
/* In a forked child all is zeros, and the recent counter that fast.S finds is this. */
_Static_assert(offsetof(struct thread, counters) == RECENT_COUNTER, "it is NULL then");

/*
 * A stub has the number of its place in r11, and nothing in the engine changes that. So a sample,
 * or a signal's entries, tell at any instruction of the engine which function was entered.
 */
register uint64_t place_register __asm__("r11");

/* 1 + the index of the place that was entered; 0: the entry is lost. */
static inline uint32_t entered_place(void)
{
	return (uint32_t)place_register;
}

extern struct pcce_count_config config __attribute__((visibility("hidden")));

static inline struct pcce_count_area *area(void)
{
	return (struct pcce_count_area *)config.area;
}

static inline struct pcce_page *page(void)
{
	uint64_t tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return (struct pcce_page *)(tp + (uint64_t)config.tpoff);
}

/* Two tasks have one page. What the engine keeps of a thread is not made for two, and contexts are
 * not known. The runtime has cleared pcce_page.counting, so calls come here. */
static inline int is_shared(const struct pcce_page *p)
{
	return p->state & PCCE_STATE_SHARED;
}

static inline void *unit(uint32_t number)
{
	return (char *)config.area + (uint64_t)number * PCCE_COUNT_UNIT;
}

static inline uint32_t unit_number(const void *u)
{
	return (uint32_t)(((uint64_t)u - config.area) / PCCE_COUNT_UNIT);
}

static inline void lose(void)
{
	__atomic_add_fetch(&area()->lost, 1, __ATOMIC_RELAXED);
}

/* ---- memory ---------------------------------------------------------------------- */

/* Zeros; NULL: there is no more. */
void *take_memory(uint64_t size);
/* kind: of the block. NULL: there is no more. */
void *new_unit(struct thread *t, struct pcce_count_block **current, uint32_t kind);
/* Numbers the thread, and makes all that it needs but hot. NULL: no memory. */
struct thread *new_thread(const struct pcce_page *p);
/* What pcce_page.counted names, which is 1 in a thread that has not counted yet. What it names
 * after a fork is zeros. NULL: no memory, or the program's runtime is too old. */
struct thread *find_thread(struct pcce_page *p);
/* Does the module of a place use another thread page than that of the program? Then the state that
 * the engine sees is none of its own. A dlopen() with RTLD_DEEPBIND can cause that. */
int has_other_page(uint32_t place);
/* Lets the fast way use it. burst: as read before; 0 if there are no bursts. */
void continue_counting(struct thread *t, struct pcce_page *p, uint32_t burst);

/*
 * What was not counted between two bursts is missing in the shadow. So the first count of a thread
 * in a burst takes the slow way, which checks the whole stack. burst is not 0.
 */
static inline int has_counted_in(uint32_t burst)
{
	const struct thread *t = (const struct thread *)page()->counting;

	return t && t->burst == burst;
}

static inline uint32_t current_burst(void)
{
	return __atomic_load_n(&area()->burst, __ATOMIC_RELAXED);
}

/* ---- indexes --------------------------------------------------------------------- */

/* Two multiplications that do not wait for each other. */
static inline uint64_t hash(uint64_t a, uint64_t b)
{
	return a * 0x9e3779b97f4a7c15ULL + b * 0xd6e8feb86659fd93ULL;
}

static inline uint64_t hash_counter(uint64_t node_and_place, uint64_t id, uint64_t ext)
{
	return hash(node_and_place, id + ext);
}

/* What they index. */
enum indexed { NODES, COUNTERS };

/* Makes room for one more. Returns whether there is. If there is none, the unit must not be made if
 * counters are used again: a context with two counters could lose one of them. */
int make_room(struct index **where, enum indexed kind);
/* Adds a unit if there is room. What a handler adds meanwhile may be missing in the index later: it
 * is added again then. */
void add_to_index(struct index **where, const void *u, enum indexed kind);
/* Nothing else may use the index meanwhile, handlers included. NULL: there is none, since a handler
 * has forked, and this is the child. */
void remove_from_index(struct index *x, const void *u, enum indexed kind);

/* What the encoding stack ends with. */
static inline const struct pcce_entry *newest_entry(const struct pcce_page *p)
{
	return (const struct pcce_entry *)((const char *)&p->base + (uint32_t)p->position);
}

/*
 * Where the thread remembers the counter. To find a counter in the index needs the node of the
 * stack. That takes many loads, one after the other, and the processor begins little of the next
 * call meanwhile. What this needs is known early.
 */
static inline struct recent *recent_place(struct thread *t, const struct pcce_page *p,
					  uint32_t place)
{
	const struct pcce_entry *e = newest_entry(p);
	uint32_t h = (place * HASH_PLACE + (uint32_t)p->id) * 5 + p->off, mask;

	h = (h + (uint32_t)e->id + (uint32_t)e->site) * HASH_RECENT;
	/* The mask never belongs to more counters than there are. */
	mask = (uint32_t)__atomic_load_n(&t->recent.second, __ATOMIC_ACQUIRE);
	return (struct recent *)((char *)t + t->recent.first + (h >> HASH_SHIFT & mask));
}

/* How many entries the stack has at a position. */
static inline uint64_t depth_at(uint64_t position)
{
	return (position >> (32 + PCCE_PLACE_SHIFT)) * PCCE_SEGMENT_ENTRIES +
	       (position & PCCE_OFF_USED) / sizeof(struct pcce_entry);
}

/* Does the shadow have this position? At the beginning of a segment it says nothing. */
static inline int is_in_shadow(const struct thread *t, uint64_t position)
{
	uint64_t segment = position >> (32 + PCCE_PLACE_SHIFT);

	return segment < t->segments &&
	       (!segment || (position & PCCE_OFF_USED) > sizeof(struct pcce_entry));
}

/* Remembers the counter of the current context. A handler may remember another one in the same
 * place. */
static inline void remember(struct thread *t, const struct pcce_page *p, uint32_t place,
			    struct pcce_count_counter *c)
{
	struct recent *r = recent_place(t, p, place);
	struct pair now = {p->position, depth_at(p->position) * sizeof(t->at[0])};

	/* find_counter() must do the same. */
	if (!t->recent.first)
		return;
	if (!is_in_shadow(t, p->position) || (p->position & PCCE_OFF_USED) > PCCE_OFF_FULL)
		now = (struct pair){NO_POSITION, 0};
	r->counter = c;
	while (!replace_pair(&r->position, r->position, now))
		;
}

/* For the counters that the thread has now. */
void make_recent(struct thread *t);

/* The counter of the current context, n being the node of its stack. NULL: there is none yet. */
static inline struct pcce_count_counter *find_counter(struct thread *t, const struct pcce_page *p,
						      const struct pcce_count_node *n,
						      uint32_t place)
{
	uint64_t first = (uint64_t)place << 32 | unit_number(n); /* two fields of a counter */
	const struct index *x = t->counters;
	uint32_t i;

	/* A handler may have forked: then all is zeros in the child. */
	if (!x)
		return NULL;
	i = (uint32_t)(hash_counter(first, p->id, p->ext) >> x->shift) & x->mask;
	for (; x->slot[i]; i = (i + 1) & x->mask) {
		struct pcce_count_counter *c = unit(x->slot[i]);

		if (*(const uint64_t *)c == first && c->id == p->id && c->ext == p->ext) {
			remember(t, p, place, c);
			return c;
		}
	}
	return NULL;
}

/* Makes a counter that of the current context, and counts: in one instruction, so that a handler
 * which jumps away leaves no call without a context. */
static inline void fill_counter(struct thread *t, const struct pcce_page *p,
				const struct pcce_count_node *n, uint32_t place,
				struct pcce_count_counter *c, uint32_t weight)
{
	struct pair *counted = (struct pair *)c, before, after;

	c->id = p->id;
	c->ext = p->ext;
	do {
		before = *counted;
		after.first = (uint64_t)place << 32 | unit_number(n);
		after.second = before.second + weight;
	} while (!replace_pair(counted, before, after));
	add_to_index(&t->counters, c, COUNTERS);
	make_recent(t);
}

/* ---- adaptive bursts: adaptive.c ------------------------------------------- */

/* The weight of the calls of a burst that begins in the current context, n being the node of its
 * stack. 0: the burst is to be skipped. */
uint32_t weigh_burst(struct thread *t, const struct pcce_page *p, const struct pcce_count_node *n,
		     uint32_t place);

/* ---- Lossy Counting: lossy.c ----------------------------------------------- */

/* The thread must be busy with changes in both functions. The last bucket has ended: frees the
 * counters of contexts with few calls. */
void begin_bucket(struct thread *t);
/* A counter for a context that has none; NULL: no memory. */
struct pcce_count_hot_counter *take_lossy_counter(struct thread *t);

/* ---- the encoding stack ---------------------------------------------------------- */

static inline const struct pcce_entry *current_base(const struct pcce_page *p, uint64_t position)
{
	return (const struct pcce_entry *)((const char *)&p->base + (position & PCCE_OFF_HALF));
}

/*
 * If counters are used again, nodes are, too. A node is in use as long as a counter, another node,
 * the shadow or struct thread names it. This is the pruning of the paper (Algorithm 1). With the
 * exact engine, these do nothing.
 */
void keep_node(const struct thread *t, struct pcce_count_node *n);
void release_node(struct thread *t, struct pcce_count_node *n);
/* Lets a place name a node, instead of the one before. n: NULL for none. */
void name_node(struct thread *t, struct pcce_count_node **place, struct pcce_count_node *n);

/* At the beginning of a segment, or with the current one alone: what is below is this node. */
void remember_below(struct thread *t, const struct pcce_page *p, struct pcce_count_node *below);

/* The node of the current stack, found in the slow way. NULL: it is not known. */
struct pcce_count_node *find_stack(struct thread *t, const struct pcce_page *p);

/*
 * The node of the current stack if only the newest entry has changed, and it is an ordinary one.
 * Not for counters that are used again. NULL: another way is needed.
 */
struct pcce_count_node *pushed_stack(struct thread *t, const struct pcce_page *p);

/*
 * Tells whether a function has ended that was entered at another position. A signal handler that
 * runs on top of it has pushed a special entry there first.
 */
int was_left(const struct pcce_page *p, uint64_t position);

/* At the beginning of a segment, what is below has to be the same as the last time. */
struct pcce_count_node *remembered_stack(const struct thread *t, const struct pcce_page *p);

/* Is it the node of this entry on top of another node? */
static inline int is_node_of(const struct pcce_count_node *n, const struct pcce_entry *e,
			     const struct pcce_count_node *parent)
{
	return n->id == e->id && n->site == e->site && n->parent_address == (uint64_t)parent;
}

/* May the newest entry be looked at alone? What is below must be trusted, and in its segment. */
static inline int may_move(const struct thread *t, uint64_t position)
{
	uint64_t used = position & PCCE_OFF_USED;

	return t->trusted && used > sizeof(struct pcce_entry) && used <= PCCE_OFF_FULL;
}

static inline int has_context(const struct pcce_count_counter *c, const struct pcce_page *p,
			      uint32_t place)
{
	return c->place == place && c->id == p->id && c->ext == p->ext;
}

/*
 * The counter of the current context in the fast way: the thread has used it recently, and at most
 * the newest entry has changed. If it has, *moved is the place in the shadow that must name the
 * counter's node, which is not yet there. NULL: another way is needed.
 */
static ALWAYS_INLINE struct pcce_count_counter *recent_counter(struct thread *t,
							       const struct pcce_page *p,
							       uint32_t place,
							       struct pcce_count_node ***moved)
{
	struct pcce_count_counter *c = recent_place(t, p, place)->counter;
	struct pcce_count_node **at = t->at, *n;

	/* What is loaded again needs no register that must be saved. */
	__asm__ volatile("" ::: "memory");
	/* All is zeros if a handler has forked, and this is the child. */
	if (!c || !at || !has_context(c, p, place) || !is_in_shadow(t, p->position))
		return NULL;
	n = unit(c->node);
	at += depth_at(p->position);
	if (!is_node_of(n, newest_entry(p), at[-1]))
		return NULL;
	if (at[0] == n)
		return c;
	if (!may_move(t, p->position))
		return NULL;
	*moved = at;
	return c;
}

/* At the beginning of a segment: the counter of the current context, if the thread has used it
 * recently on this stack. */
static inline struct pcce_count_counter *
recent_counter_at_start(struct thread *t, const struct pcce_page *p, uint32_t place)
{
	struct pcce_count_counter *c = recent_place(t, p, place)->counter;
	const struct pcce_count_node *n;

	if (!c || (p->position & PCCE_OFF_USED) > sizeof(struct pcce_entry))
		return NULL;
	n = remembered_stack(t, p);
	return n && has_context(c, p, place) && c->node == unit_number(n) ? c : NULL;
}

/* The node of the current stack, if it is the one that the thread remembers. NULL: another way is
 * needed. */
static inline struct pcce_count_node *known_stack(const struct thread *t, const struct pcce_page *p)
{
	struct pcce_count_node **at = t->at;

	if (!at || !is_in_shadow(t, p->position))
		return NULL;
	at += depth_at(p->position);
	return at[0] && is_node_of(at[0], newest_entry(p), at[-1]) ? at[0] : NULL;
}

#endif
#endif

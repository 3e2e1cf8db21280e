// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts entries into functions by their exact context, inside the program: the engine of
 * pcce-record --count. include/pcce/counting.h says how it gets there and where its results are.
 *
 * It is no part of the runtime: it is linked alone, at address 0, without any library, and moved
 * to the program as it is. It uses general registers only, no C library, no system call, no lock.
 *
 * A context is (encoding stack, function, id, ext). The stack is a node. For each depth a thread
 * remembers the node that the stack had there last, in its *shadow*. So finding the node of the
 * current stack is one comparison with the top entry. An entry into a function is counted when all
 * that its caller pushed is on the stack. So shadow[d] is right under these conditions:
 *
 *  1. The top entry, number d, was pushed by the executable's code. The function that pushed it
 *     was entered at depth d - 1, and that entry was counted. It has set shadow[d - 1].
 *  2. node->parent is shadow[d - 1], and id and site are those of the entry.
 *
 * Special entries, and entries of other modules, are pushed without that. Their nodes have a site
 * that no entry has, so they always take the slow way. It checks them, and one entry below. The
 * last entry of a segment can be counted up, so an entry above it takes the slow way, too. If the
 * thread changes to another encoding stack, the runtime clears pcce_page.counting, and the whole
 * stack is checked.
 *
 * A signal handler may interrupt any instruction, and count. All that it changes is either above
 * what the interrupted code uses, or is added by one instruction. If both add the same node or
 * counter, it exists twice, and the reader adds them. A handler never changes a counter back.
 */
#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>
#include <pcce/counting.h>

/* It saves the registers that it changes. */
#define KEEPS_REGISTERS __attribute__((no_caller_saved_registers))
#define INDEX_LOG 10	/* of a new index: slots */
#define PLACES_FIRST 64 /* segments of a new shadow */

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

/* All that is private to a process: zeros after a fork. */
struct memory {
	uint64_t used;
	uint32_t process; /* 1 + number of its first thread */
	uint32_t reserved;
};

struct thread {
	uint64_t segments;	     /* of the shadow; 0 after a fork */
	struct pcce_count_node **at; /* the shadow's */
	struct index *counters;
	struct shadow *shadow;
	struct index *nodes;
	struct pcce_count_block *node_block, *counter_block;
	uint32_t number;
	uint32_t trusted; /* 0: the whole stack must be checked */
	/* The stack below the current segment: its generation and its node. */
	uint64_t below_generation;
	struct pcce_count_node *below;
};

__attribute__((section(".config"))) struct pcce_count_config config;

static struct pcce_count_area *area(void)
{
	return (struct pcce_count_area *)config.area;
}

static struct memory *memory(void)
{
	return (struct memory *)config.memory;
}

static struct pcce_page *page(void)
{
	uint64_t tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return (struct pcce_page *)(tp + (uint64_t)config.tpoff);
}

static void *unit(uint32_t number)
{
	return (char *)config.area + (uint64_t)number * PCCE_COUNT_UNIT;
}

static uint32_t unit_number(const void *u)
{
	return (uint32_t)(((uint64_t)u - config.area) / PCCE_COUNT_UNIT);
}

static void lose(void)
{
	__atomic_add_fetch(&area()->lost, 1, __ATOMIC_RELAXED);
}

/* ---- memory ---------------------------------------------------------------------- */

static void *take_memory(uint64_t size)
{
	struct memory *m = memory();
	uint64_t at;

	size = (size + 63) & ~63ULL;
	at = __atomic_fetch_add(&m->used, size, __ATOMIC_RELAXED) + ((sizeof(*m) + 63) & ~63ULL);
	if (at + size > config.memory_size) {
		__atomic_sub_fetch(&m->used, size, __ATOMIC_RELAXED);
		return NULL;
	}
	return (char *)m + at;
}

/* One instruction, so a handler in between gets another number. */
static uint32_t take(uint32_t *counter)
{
	uint32_t one = 1;

	__asm__ volatile("xaddl %0, %1" : "+r"(one), "+m"(*counter) : : "memory", "cc");
	return one;
}

static void *new_unit(struct thread *t, struct pcce_count_block **current, uint32_t kind)
{
	struct pcce_count_block *b = *current;
	uint64_t at;
	uint32_t i;

	for (;;) {
		i = b ? take(&b->used) : PCCE_COUNT_UNITS;
		if (i < PCCE_COUNT_UNITS - 1)
			return (char *)b + (uint64_t)(1 + i) * PCCE_COUNT_UNIT;
		at = __atomic_fetch_add(&area()->used, PCCE_COUNT_BLOCK, __ATOMIC_RELAXED);
		if (at + PCCE_COUNT_BLOCK > area()->size)
			return NULL;
		b = (struct pcce_count_block *)(config.area + at);
		b->thread = t->number;
		__atomic_store_n(&b->kind, kind, __ATOMIC_RELEASE);
		*current = b;
	}
}

/* ---- indexes --------------------------------------------------------------------- */

static struct index *new_index(uint32_t log)
{
	struct index *x = take_memory(sizeof(*x) + (sizeof(x->slot[0]) << log));

	if (x) {
		x->mask = (1u << log) - 1;
		x->shift = 64 - log;
	}
	return x;
}

/* Two multiplications that do not wait for each other. */
static inline uint64_t hash(uint64_t a, uint64_t b)
{
	return a * 0x9e3779b97f4a7c15ULL + b * 0xd6e8feb86659fd93ULL;
}

static inline uint64_t hash_counter(uint64_t node_and_place, uint64_t id, uint64_t ext)
{
	return hash(node_and_place, id + ext);
}

static uint64_t hash_stack(uint32_t parent, uint64_t id, uint64_t site)
{
	return hash(parent + (site << 32 | site >> 32), id + (site >> 7));
}

static uint64_t hash_unit(const void *u, uint32_t kind)
{
	const struct pcce_count_counter *c = u;
	const struct pcce_count_node *n = u;

	if (kind == PCCE_COUNT_NODES)
		return hash_stack(n->parent, n->id, n->site);
	return hash_counter(*(const uint64_t *)c, c->id, c->ext);
}

static void put_in_index(struct index *x, uint64_t h, uint32_t number)
{
	uint32_t i = (uint32_t)(h >> x->shift);

	while (x->slot[i])
		i = (i + 1) & x->mask;
	x->slot[i] = number;
	x->used++;
}

/* Adds a unit. What a handler adds meanwhile may be missing in the index later: it is added again
 * then. */
static void add_to_index(struct index **where, const void *u, uint32_t kind)
{
	struct index *x = *where, *larger;

	if (x->used >= x->mask / 2) {
		larger = new_index(64 - x->shift + 1);
		if (larger) {
			for (uint32_t i = 0; i <= x->mask; i++)
				if (x->slot[i])
					put_in_index(larger, hash_unit(unit(x->slot[i]), kind),
						     x->slot[i]);
			*where = x = larger;
		} else if (x->used >= x->mask - 8) {
			return;
		}
	}
	put_in_index(x, hash_unit(u, kind), unit_number(u));
}

/* ---- threads --------------------------------------------------------------------- */

static struct shadow *new_shadow(uint64_t segments)
{
	struct shadow *s =
		take_memory(sizeof(*s) + (segments + 1) * PCCE_SEGMENT_ENTRIES * sizeof(s->at[0]));

	if (s) {
		s->segments = segments;
		s->at[0] = &area()->root;
	}
	return s;
}

/* A handler in between may use the larger array with the smaller size. */
static void use_shadow(struct thread *t, struct shadow *s)
{
	t->shadow = s;
	t->at = s->at;
	__atomic_store_n(&t->segments, s->segments, __ATOMIC_RELEASE);
}

static void enroll_thread(struct thread *t)
{
	uint32_t n = __atomic_fetch_add(&area()->n_threads, 1, __ATOMIC_RELAXED), none = 0;

	t->number = n < PCCE_COUNT_THREADS ? n : PCCE_COUNT_THREADS - 1;
	__atomic_compare_exchange_n(&memory()->process, &none, t->number + 1, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	area()->thread[t->number].process = memory()->process - 1;
}

static struct thread *new_thread(struct pcce_page *p)
{
	struct thread *t = take_memory(sizeof(*t));
	struct shadow *first;

	if (!t)
		return NULL;
	enroll_thread(t);
	first = new_shadow(PLACES_FIRST);
	t->nodes = new_index(INDEX_LOG);
	t->counters = new_index(INDEX_LOG);
	if (!first || !t->nodes || !t->counters)
		return NULL;
	use_shadow(t, first);
	p->counted = (uint64_t)t;
	return t;
}

/* pcce_page.counted is 1 in a thread that has not counted yet. What it names after a fork is
 * zeros. */
static struct thread *find_thread(struct pcce_page *p)
{
	struct thread *t = (struct thread *)p->counted;

	if (!t) {
		area()->old = 1;
		return NULL;
	}
	if (p->counted == PCCE_COUNTED_NONE || !t->segments)
		t = new_thread(p);
	if (!t)
		return NULL;
	if (p->counting != (uint64_t)t) {
		t->trusted = 0;
		p->counting = (uint64_t)t;
	}
	if (p->tid)
		area()->thread[t->number].tid = p->tid;
	return t;
}

/* ---- the encoding stack ---------------------------------------------------------- */

static const struct pcce_entry *current_base(const struct pcce_page *p, uint64_t position)
{
	return (const struct pcce_entry *)((const char *)&p->base + (position & PCCE_OFF_HALF));
}

/* Entry number d of the stack, 1 being the outermost; NULL: it is lost. */
static const struct pcce_entry *stack_entry(const struct pcce_page *p, uint64_t d)
{
	uint64_t segment = (d - 1) / PCCE_SEGMENT_ENTRIES, i = (d - 1) % PCCE_SEGMENT_ENTRIES;
	uint64_t current = p->place >> PCCE_PLACE_SHIFT;
	const struct pcce_segment *s;

	if (segment == current ||
	    (segment + 1 == current && (p->place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT))
		return &p->entry[(segment & 1) * (PCCE_OFF_HALF / sizeof(struct pcce_entry)) + i];
	if (segment >= PCCE_AREA_CAPACITY(p->area))
		return NULL;
	s = (const struct pcce_segment *)PCCE_AREA_ADDRESS(p->area) + segment;
	return s->generation ? &s->entry[i] : NULL;
}

/*
 * Is entry number d missing because the stack begins above it? The creator's entries below a
 * thread's own begin with segment 1 if that makes their number of segments even (origin.c).
 */
static int is_below_bottom(const struct pcce_page *p, uint64_t d)
{
	const struct pcce_entry *above =
		d == PCCE_SEGMENT_ENTRIES ? stack_entry(p, PCCE_SEGMENT_ENTRIES + 1) : NULL;

	return above && !above[-1].id;
}

/* Pushed by something else than the executable's code. */
static int is_untrusted(uint64_t site)
{
	uint64_t address = site & PCCE_SITE_MASK;

	if (site >> PCCE_SITE_BITS > PCCE_COUNT_MAX)
		return 1;
	if (address >= config.text && address < config.text_end)
		return 0;
	if (address)
		area()->foreign = 1;
	return 1;
}

/* The node of an entry on top of another node. */
static struct pcce_count_node *find_node(struct thread *t, struct pcce_count_node *parent,
					 uint64_t id, uint64_t site)
{
	uint32_t number = unit_number(parent), i;
	struct index *x = t->nodes;
	struct pcce_count_node *n;

	for (i = (uint32_t)(hash_stack(number, id, site) >> x->shift); x->slot[i];
	     i = (i + 1) & x->mask) {
		n = unit(x->slot[i]);
		if (n->parent == number && n->id == id && n->site == site)
			return n;
	}
	n = new_unit(t, &t->node_block, PCCE_COUNT_NODES);
	if (!n)
		return NULL;
	n->parent = number;
	n->id = id;
	n->site = site;
	n->parent_address = (uint64_t)parent;
	__atomic_store_n(&n->depth, parent->depth + 1, __ATOMIC_RELEASE);
	add_to_index(&t->nodes, n, PCCE_COUNT_NODES);
	return n;
}

/* Makes the shadow large enough; false: no memory, or an impossible depth. */
static int grow_shadow(struct thread *t, uint64_t d)
{
	uint64_t segment = d / PCCE_SEGMENT_ENTRIES, size = t->shadow->segments;
	struct shadow *s;

	if (segment > 2 * PCCE_AREA_SEGMENTS)
		return 0;
	while (size <= segment)
		size *= 8;
	if (size == t->shadow->segments)
		return 1;
	s = new_shadow(size);
	if (!s)
		return 0;
	for (uint64_t i = 0; i < (t->shadow->segments + 1) * PCCE_SEGMENT_ENTRIES; i++)
		s->at[i] = t->shadow->at[i];
	use_shadow(t, s);
	return 1;
}

/* The lowest entry that has to be checked. 0: an entry is lost. */
static uint64_t find_trusted(const struct thread *t, const struct pcce_page *p, uint64_t d)
{
	const struct pcce_entry *e;
	uint64_t k;

	for (k = d; k > 0; k--) {
		e = stack_entry(p, k);
		if (!e)
			return is_below_bottom(p, k) ? k + 1 : 0;
		if (k > 1 && t->trusted && t->shadow->at[k - 1] && !is_untrusted(e->site) &&
		    k % PCCE_SEGMENT_ENTRIES != 1)
			return k;
	}
	return 1;
}

/* A generation is never given twice, and the base names that of all that is below. */
static void remember_below(struct thread *t, const struct pcce_page *p,
			   struct pcce_count_node *below)
{
	const struct pcce_entry *base = current_base(p, p->position);

	if (base->site != PCCE_MARK_WORD || !base->id)
		return;
	t->below_generation = 0;
	__asm__ volatile("" ::: "memory");
	t->below = below;
	__asm__ volatile("" ::: "memory");
	t->below_generation = base->id;
}

/* The node of the stack that is d entries deep. NULL: it is not known. */
static struct pcce_count_node *find_stack(struct thread *t, const struct pcce_page *p, uint64_t d)
{
	struct pcce_count_node *n, *parent;
	struct shadow *s;
	uint64_t k;

	do {
		if (!grow_shadow(t, d))
			return NULL;
		s = t->shadow;
		k = find_trusted(t, p, d);
		if (!k)
			return NULL;
		if (k == PCCE_SEGMENT_ENTRIES + 1 && !stack_entry(p, PCCE_SEGMENT_ENTRIES))
			s->at[PCCE_SEGMENT_ENTRIES] = s->at[0];
		for (; k <= d; k++) {
			const struct pcce_entry *e = stack_entry(p, k);
			uint64_t site = e->site;

			if (is_untrusted(site))
				site ^= PCCE_COUNT_UNTRUSTED;
			parent = s->at[k - 1];
			n = s->at[k];
			if (!n || n->parent != unit_number(parent) || n->id != e->id ||
			    n->site != site)
				n = find_node(t, parent, e->id, site);
			if (!n)
				return NULL;
			s->at[k] = n;
		}
		/* A handler in between may have made a larger one, from what was here before. */
	} while (t->shadow != s);
	t->trusted = 1;
	k = (uint64_t)(p->place >> PCCE_PLACE_SHIFT) * PCCE_SEGMENT_ENTRIES;
	if (k && d <= k + 1)
		remember_below(t, p, s->at[k]);
	return s->at[d];
}

/* ---- counting -------------------------------------------------------------------- */

static struct pcce_count_counter *find_counter(const struct index *x, uint64_t node_and_place,
					       uint64_t id, uint64_t ext)
{
	uint32_t i = (uint32_t)(hash_counter(node_and_place, id, ext) >> x->shift);

	for (; x->slot[i]; i = (i + 1) & x->mask) {
		struct pcce_count_counter *c = unit(x->slot[i]);

		if (*(const uint64_t *)c == node_and_place && c->id == id && c->ext == ext)
			return c;
	}
	return NULL;
}

KEEPS_REGISTERS __attribute__((noinline)) static void count_slowly(uint32_t place)
{
	struct pcce_page *p = page();
	struct thread *t = place ? find_thread(p) : NULL;
	uint64_t used = p->off & PCCE_OFF_USED, key;
	struct pcce_count_counter *c;
	struct pcce_count_node *n;

	n = t && used <= PCCE_OFF_FULL
		    ? find_stack(t, p,
				 (uint64_t)(p->place >> PCCE_PLACE_SHIFT) * PCCE_SEGMENT_ENTRIES +
					 used / sizeof(struct pcce_entry))
		    : NULL;
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
		add_to_index(&t->counters, c, PCCE_COUNT_COUNTERS);
	}
	c->count++;
}

/* At the beginning of a segment, what is below has to be the same as the last time. */
static inline struct pcce_count_node *remembered_stack(const struct thread *t,
						       const struct pcce_page *p, uint64_t position)
{
	uint64_t used = position & PCCE_OFF_USED, segment = position >> (32 + PCCE_PLACE_SHIFT);
	struct pcce_count_node *n;
	const struct pcce_entry *e;

	if (segment >= t->segments || used > sizeof(*e) ||
	    current_base(p, position)->id != t->below_generation)
		return NULL;
	if (!used)
		return t->below;
	n = t->at[segment * PCCE_SEGMENT_ENTRIES + 1];
	e = current_base(p, position) + 1;
	return n && n->id == e->id && n->site == e->site && n->parent_address == (uint64_t)t->below
		       ? n
		       : NULL;
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

/* Counts an entry into a function: place is 1 + the index of where it was entered; 0: it is
 * lost. */
KEEPS_REGISTERS void count(uint32_t place)
{
	const struct pcce_page *p = page();
	const struct thread *t = (const struct thread *)p->counting;
	uint64_t position = p->position, segment = position >> (32 + PCCE_PLACE_SHIFT),
		 used = position & PCCE_OFF_USED;
	struct pcce_count_node *const *at;
	struct pcce_count_counter *c;
	const struct pcce_count_node *n;
	const struct pcce_entry *e;
	const struct index *x;
	uint32_t i;

	if (!t || segment >= t->segments || (segment && used <= sizeof(*e)))
		goto more;
	at = (struct pcce_count_node *const *)((const char *)t->at +
					       segment * PCCE_SEGMENT_ENTRIES * sizeof(*at) +
					       used / (sizeof(*e) / sizeof(*at)));
	n = at[0];
	e = (const struct pcce_entry *)((const char *)&p->base + (uint32_t)position);
	if (!n || n->id != e->id || n->site != e->site || n->parent_address != (uint64_t)at[-1])
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

KEEPS_REGISTERS void empty(uint32_t place)
{
	(void)place;
}

__asm__("	.pushsection .head, \"a\", @progbits\n"
	"	.quad 0x544e554f43434350, count, empty, config, engine_end\n"
	"	.popsection\n");

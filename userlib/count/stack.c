// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Finds the node of the current encoding stack, for the counting engines: see engine.h.
 *
 * In the exact engine, a signal handler may interrupt any instruction, and count. All that it
 * changes is either above what the interrupted code uses, or is added by one instruction. If both
 * add the same node, it exists twice, and the reader adds what is counted with them. A handler
 * never changes a counter back.
 */
#include "count/engine.h"
#include "count/memory.h"

#define INDEX_LOG 10 /* of a new index: slots */
#define RECENT_FIRST 256
#define RECENT_GROWTH 4
#define RECENT_MAX 16384
#define RECENT_PART 256 /* of the memory: many threads have few recent counters each */
#define PLACES_FIRST 64 /* segments of a new shadow */

__attribute__((section(".config"))) struct pcce_count_config config;

static struct count_memory *memory(void)
{
	return (struct count_memory *)config.memory;
}

static const struct pcce_count_modules *modules_of_process(void)
{
	return (const struct pcce_count_modules *)config.modules;
}

/* ---- memory ---------------------------------------------------------------------- */

/* Takes bytes of a part of the memory. NULL: it has no more. */
static void *take_part(uint64_t *used, uint64_t start, uint64_t end, uint64_t size)
{
	uint64_t before = __atomic_load_n(used, __ATOMIC_RELAXED);

	size = (size + 63) & ~63ULL;
	do {
		if (size > end - start || before > end - start - size)
			return NULL;
	} while (!__atomic_compare_exchange_n(used, &before, before + size, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return (char *)memory() + start + before;
}

static uint64_t end_of_memory(void)
{
	return config.memory_size / 4 * 3 & ~63ULL;
}

void *take_memory(uint64_t size)
{
	return take_part(&memory()->used, (sizeof(struct count_memory) + 63) & ~63ULL,
			 end_of_memory(), size);
}

/*
 * For recent counters. In a forked child, interrupted code may still look for one where the parent
 * had it. So nothing else comes there.
 */
static struct recent *take_recent(uint64_t n)
{
	return take_part(&memory()->recent, end_of_memory(), config.memory_size, n * RECENT_SIZE);
}

/* One instruction, so a handler in between gets another number. */
static uint32_t take(uint32_t *counter)
{
	uint32_t one = 1;

	__asm__ volatile("xaddl %0, %1" : "+r"(one), "+m"(*counter) : : "memory", "cc");
	return one;
}

void *new_unit(struct thread *t, struct pcce_count_block **current, uint32_t kind)
{
	struct pcce_count_block *b = *current;
	uint64_t at;
	uint32_t size = pcce_count_unit_size(kind), i;

	for (;;) {
		i = b && b->used < PCCE_COUNT_BLOCK ? take(&b->used) : PCCE_COUNT_BLOCK;
		if (i < PCCE_COUNT_BLOCK / size - 1)
			return (char *)b + (uint64_t)(1 + i) * size;
		at = __atomic_fetch_add(&area()->used, PCCE_COUNT_BLOCK, __ATOMIC_RELAXED);
		if (at + PCCE_COUNT_BLOCK > area()->size)
			return NULL;
		b = (struct pcce_count_block *)(config.area + at);
		b->thread = t->number;
		b->before = *current ? unit_number(*current) : 0;
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

static uint64_t hash_stack(uint32_t parent, uint64_t id, uint64_t site)
{
	return hash(parent + (site << 32 | site >> 32), id + (site >> 7));
}

static uint64_t hash_unit(const void *u, enum indexed kind)
{
	const struct pcce_count_counter *c = u;
	const struct pcce_count_node *n = u;

	if (kind == NODES)
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

int make_room(struct index **where, enum indexed kind)
{
	struct index *x = *where, *larger;

	/* None: a handler has forked, and this is the child. */
	if (!x || x->used < x->mask / 2)
		return x != NULL;
	larger = new_index(64 - x->shift + 1);
	if (!larger)
		return x->used < x->mask - 8;
	for (uint32_t i = 0; i <= x->mask; i++)
		if (x->slot[i])
			put_in_index(larger, hash_unit(unit(x->slot[i]), kind), x->slot[i]);
	*where = larger;
	return 1;
}

void add_to_index(struct index **where, const void *u, enum indexed kind)
{
	struct index *x = make_room(where, kind) ? *where : NULL;

	if (x)
		put_in_index(x, hash_unit(u, kind), unit_number(u));
}

void remove_from_index(struct index *x, const void *u, enum indexed kind)
{
	uint32_t number = unit_number(u), i, j;

	if (!x)
		return;
	i = (uint32_t)(hash_unit(u, kind) >> x->shift) & x->mask;
	while (x->slot[i] && x->slot[i] != number)
		i = (i + 1) & x->mask;
	if (!x->slot[i])
		return;
	/* Those behind it that would not be found any more move into the gap. */
	for (j = (i + 1) & x->mask; x->slot[j]; j = (j + 1) & x->mask) {
		uint32_t home = (uint32_t)(hash_unit(unit(x->slot[j]), kind) >> x->shift);

		if (((j - home) & x->mask) < ((j - i) & x->mask))
			continue;
		x->slot[i] = x->slot[j];
		i = j;
	}
	x->slot[i] = 0;
	x->used--;
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

void make_recent(struct thread *t)
{
	struct pair before = t->recent;
	uint64_t n = before.first ? before.second / RECENT_SIZE + 1 : 0;
	uint64_t larger = n ? n * RECENT_GROWTH : RECENT_FIRST;
	struct recent *r;

	if (larger > RECENT_MAX || !t->counters || t->counters->used < n / 2 ||
	    (n && memory()->recent > config.memory_size / RECENT_PART))
		return;
	r = take_recent(larger);
	if (!r)
		return;
	/* A handler in between has made more itself. */
	replace_pair(&t->recent, before,
		     (struct pair){(uint64_t)((char *)r - (char *)t), (larger - 1) * RECENT_SIZE});
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
	__atomic_compare_exchange_n(&memory()->process, &none, t->number + 1, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
	area()->thread[t->number].process = memory()->process - 1;
	publish_loads(config.memory, area(),
		      __atomic_load_n(&modules_of_process()->loads, __ATOMIC_SEQ_CST));
}

struct thread *new_thread(const struct pcce_page *p)
{
	struct thread *t = take_memory(sizeof(*t));
	struct shadow *first;

	if (!t)
		return NULL;
	enroll_thread(t);
	if (p->tid)
		area()->thread[t->number].tid = p->tid;
	first = new_shadow(PLACES_FIRST);
	t->weight = 1;
	t->nodes = new_index(INDEX_LOG);
	t->counters = new_index(INDEX_LOG);
	t->recent = (struct pair){0, 0};
	make_recent(t);
	if (!first || !t->nodes || !t->counters || !t->recent.first)
		return NULL;
	use_shadow(t, first);
	return t;
}

struct thread *find_thread(struct pcce_page *p)
{
	struct thread *t = (struct thread *)p->counted;

	if (!t) {
		area()->old = 1;
		return NULL;
	}
	if (p->counted == PCCE_COUNTED_NONE || !t->segments) {
		t = new_thread(p);
		if (!t)
			return NULL;
		p->counted = (uint64_t)t;
	}
	if (p->tid)
		area()->thread[t->number].tid = p->tid;
	return t;
}

void continue_counting(struct thread *t, struct pcce_page *p, uint32_t burst)
{
	if (p->counting == (uint64_t)t && t->burst == burst)
		return;
	t->trusted = 0;
	t->burst = burst;
	/* A handler in between must not trust the shadow. */
	__asm__ volatile("" ::: "memory");
	p->counting = (uint64_t)t;
}

/* ---- nodes ----------------------------------------------------------------------- */

void keep_node(const struct thread *t, struct pcce_count_node *n)
{
	if (t->hot && n != &area()->root)
		((struct pcce_count_hot_node *)n)->uses++;
}

void release_node(struct thread *t, struct pcce_count_node *n)
{
	while (t->hot && n && n != &area()->root) {
		struct pcce_count_hot_node *h = (struct pcce_count_hot_node *)n;
		struct pcce_count_node *parent = unit(n->parent);

		if (--h->uses)
			return;
		remove_from_index(t->nodes, n, NODES);
		n->depth = 0;
		n->parent = t->hot->free_nodes;
		t->hot->free_nodes = unit_number(n);
		n = parent;
	}
}

static struct pcce_count_node *new_node(struct thread *t)
{
	struct pcce_count_node *n;

	if (!t->hot)
		return new_unit(t, &t->node_block, PCCE_COUNT_NODES);
	if (!t->hot->free_nodes)
		return new_unit(t, &t->node_block, PCCE_COUNT_HOT_NODES);
	n = unit(t->hot->free_nodes);
	t->hot->free_nodes = n->parent;
	return n;
}

void name_node(struct thread *t, struct pcce_count_node **place, struct pcce_count_node *n)
{
	struct pcce_count_node *before = *place;

	if (n)
		keep_node(t, n);
	*place = n;
	release_node(t, before);
}

/* ---- the encoding stack ---------------------------------------------------------- */

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

/* Pushed by something else than code whose functions are counted. */
static int is_untrusted(uint64_t site)
{
	const struct pcce_count_modules *m = modules_of_process();
	uint64_t address = site & PCCE_SITE_MASK;

	if (site >> PCCE_SITE_BITS > PCCE_COUNT_MAX)
		return 1;
	if (address >= config.text && address < config.text_end)
		return 0;
	for (uint32_t i = __atomic_load_n(&m->n_modules, __ATOMIC_ACQUIRE); i-- > 0;)
		if (address >= m->module[i].text && address < m->module[i].text_end)
			return 0;
	if (address)
		area()->foreign = 1;
	return 1;
}

/* The library that has the place; NULL: none. */
static const struct pcce_count_module *module_of_place(uint64_t place)
{
	const struct pcce_count_modules *m = modules_of_process();
	uint32_t i = __atomic_load_n(&m->n_modules, __ATOMIC_ACQUIRE);

	while (place > config.places && i-- > 0)
		if (place - m->module[i].first < m->module[i].n_places)
			return &m->module[i];
	return NULL;
}

int has_other_page(uint32_t place)
{
	const struct pcce_count_module *m = module_of_place(place);

	return m && *(const int64_t *)m->got != config.tpoff;
}

typedef void counting_function(void) KEEPS_REGISTERS;

/*
 * The executable is not instrumented, so the thread page is that of libpcce.so.0. The dynamic
 * linker has put its offset into the libraries. It is negative, since the page is in static TLS.
 */
KEEPS_REGISTERS void count_late(void)
{
	const struct pcce_count_module *m = config.tpoff ? NULL : module_of_place(entered_place());

	if (m && *(const int64_t *)m->got < 0)
		config.tpoff = *(const int64_t *)m->got;
	if (config.tpoff)
		((counting_function *)config.function)();
	else
		lose();
}

int was_left(const struct pcce_page *p, uint64_t position)
{
	uint64_t d = depth_at(position);
	const struct pcce_entry *e;

	if (depth_at(p->position) <= d)
		return 1;
	e = stack_entry(p, d + 1);
	return e && !is_untrusted(e->site);
}

/* The node of an entry on top of another node. */
static struct pcce_count_node *find_node(struct thread *t, struct pcce_count_node *parent,
					 uint64_t id, uint64_t site)
{
	uint32_t number = unit_number(parent), i;
	struct index *x = t->nodes;
	struct pcce_count_node *n;

	if (!x)
		return NULL;
	for (i = (uint32_t)(hash_stack(number, id, site) >> x->shift) & x->mask; x->slot[i];
	     i = (i + 1) & x->mask) {
		n = unit(x->slot[i]);
		if (n->parent == number && n->id == id && n->site == site)
			return n;
	}
	n = !t->hot || make_room(&t->nodes, NODES) ? new_node(t) : NULL;
	if (!n)
		return NULL;
	keep_node(t, parent);
	n->parent = number;
	n->id = id;
	n->site = site;
	n->parent_address = (uint64_t)parent;
	__atomic_store_n(&n->depth, parent->depth + 1, __ATOMIC_RELEASE);
	add_to_index(&t->nodes, n, NODES);
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
void remember_below(struct thread *t, const struct pcce_page *p, struct pcce_count_node *below)
{
	const struct pcce_entry *base = current_base(p, p->position);

	if (base->site != PCCE_MARK_WORD || !base->id)
		return;
	t->below_generation = 0;
	__asm__ volatile("" ::: "memory");
	name_node(t, &t->below, below);
	__asm__ volatile("" ::: "memory");
	t->below_generation = base->id;
}

/* An entry that is not counted leaves nothing to trust at these depths. */
static void forget(struct thread *t, uint64_t from, uint64_t d)
{
	t->trusted = 0;
	for (uint64_t k = from ? from : 1; k <= d && k / PCCE_SEGMENT_ENTRIES < t->segments; k++)
		name_node(t, &t->at[k], NULL);
}

/* Was it the engine that the signal of this entry interrupted? Stubs are no part of it. */
static int has_interrupted_engine(const struct pcce_entry *e)
{
	uint64_t address = e->site & PCCE_SITE_MASK;

	return e->site >> PCCE_SITE_BITS == PCCE_COUNT_SIGNAL && address >= config.code &&
	       address < config.stubs;
}

/* Where the place's stub calls the engine; 0: there is no such place. */
static uint64_t in_stub(uint64_t place)
{
	const struct pcce_count_module *m = module_of_place(place);
	uint64_t end = config.ends + (place ^ PCCE_COUNT_END) * PCCE_COUNT_END_STUB;

	if (place & PCCE_COUNT_END && end < config.ends_end)
		return end;
	if (!place || (!m && place > config.places))
		return 0;
	return (m ? m->stubs : config.stubs) + (place - (m ? m->first : 1)) * config.stub_size +
	       PCCE_COUNT_IN_STUB;
}

/* Entry number d as its node has it. If a signal has interrupted the engine, the next entry has the
 * place, which was in r11. */
static struct pcce_entry canonical(const struct pcce_page *p, uint64_t d, uint64_t depth)
{
	struct pcce_entry c = *stack_entry(p, d);
	const struct pcce_entry *second =
		d < depth && has_interrupted_engine(&c) ? stack_entry(p, d + 1) : NULL;
	uint64_t stub = second && second->site >> PCCE_SITE_BITS == PCCE_COUNT_SIGNAL2
				? in_stub(second->site & PCCE_SITE_MASK)
				: 0;

	if (stub)
		c.site = PCCE_COUNT_SIGNAL << PCCE_SITE_BITS | stub;
	if (is_untrusted(c.site))
		c.site ^= PCCE_COUNT_UNTRUSTED;
	return c;
}

/* Finds the nodes from number *k on. False: memory is missing. */
static int find_nodes(struct thread *t, const struct pcce_page *p, struct shadow *s, uint64_t *k,
		      uint64_t d)
{
	for (; *k <= d; ++*k) {
		struct pcce_count_node *parent = s->at[*k - 1], *n = s->at[*k];
		const struct pcce_entry e = canonical(p, *k, d);

		/* A handler may have forgotten it. */
		if (!parent)
			return 0;
		if (!n || n->parent != unit_number(parent) || n->id != e.id || n->site != e.site)
			n = find_node(t, parent, e.id, e.site);
		if (!n)
			return 0;
		if (s->at[*k] != n)
			name_node(t, &s->at[*k], n);
	}
	return 1;
}

struct pcce_count_node *find_stack(struct thread *t, const struct pcce_page *p)
{
	uint64_t d = depth_at(p->position), k = 0;
	struct shadow *s;

	if ((p->off & PCCE_OFF_USED) > PCCE_OFF_FULL)
		goto lost;
	do {
		/* All is zeros if a handler has forked, and this is the child. */
		if (!t->segments || !grow_shadow(t, d))
			goto lost;
		s = t->shadow;
		k = find_trusted(t, p, d);
		if (!k)
			goto lost;
		if (k == PCCE_SEGMENT_ENTRIES + 1 && !stack_entry(p, PCCE_SEGMENT_ENTRIES))
			name_node(t, &s->at[PCCE_SEGMENT_ENTRIES], s->at[0]);
		if (!find_nodes(t, p, s, &k, d))
			goto lost;
		/* A handler in between may have made a larger one, from what was here before. */
	} while (t->shadow != s);
	t->trusted = 1;
	k = (uint64_t)(p->place >> PCCE_PLACE_SHIFT) * PCCE_SEGMENT_ENTRIES;
	if (k && d <= k + 1)
		remember_below(t, p, s->at[k]);
	return s->at[d];
lost:
	forget(t, k, d);
	return NULL;
}

struct pcce_count_node *pushed_stack(struct thread *t, const struct pcce_page *p)
{
	const struct pcce_entry *e = newest_entry(p);
	uint64_t d = depth_at(p->position);
	struct pcce_count_node *n;
	struct shadow *s;

	if (!may_move(t, p->position) || is_untrusted(e->site))
		return NULL;
	do {
		s = t->shadow;
		if (!s || d / PCCE_SEGMENT_ENTRIES >= t->segments || !s->at[d - 1])
			return NULL;
		n = find_node(t, s->at[d - 1], e->id, e->site);
		if (!n)
			return NULL;
		s->at[d] = n;
		/* As in find_stack(). */
	} while (t->shadow != s);
	return n;
}

struct pcce_count_node *remembered_stack(const struct thread *t, const struct pcce_page *p)
{
	uint64_t position = p->position, used = position & PCCE_OFF_USED;
	uint64_t segment = position >> (32 + PCCE_PLACE_SHIFT);
	const struct pcce_entry *e = newest_entry(p);
	struct pcce_count_node *n;

	if (segment >= t->segments || used > sizeof(*e) || !t->below_generation ||
	    current_base(p, position)->id != t->below_generation || !t->at)
		return NULL;
	if (!used)
		return t->below;
	n = t->at[depth_at(position)];
	return n && is_node_of(n, e, t->below) ? n : NULL;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Finds out whether the calling context is in a set: pcce_on_context() of pcce.h.
 * include/pcce/context_set.h says what a set is.
 *
 * The state of the automaton is followed outwards: from the function that asks, through the entries
 * of the current segment, newest first. There are two sets of states. The certain ones are reached
 * in any case. The possible ones would be reached with some frames in place of those that are not
 * known. So the answer is yes, no or unknown, and a gap cannot make a yes of it.
 *
 * What all complete segments below make of a state is kept in a cache under their generation, as in
 * context_id.c. For this a segment is followed from all states at once: its entries are a product
 * of matrices.
 */
#include "base/confined.h"
#include "contexts/set.h"
#include "contexts/words.h"
#include "internal.h"
#include "base/local_libc.h"
#include "stack/segments_below.h"
#include "base/syscall.h"

#define ALL_STATES 0xffULL
#define ROOT_OTHER 0u		 /* not special */
#define ROOT_FOREIGN 0xffffffffu /* uninstrumented code */
#define ROOT_UNKNOWN 0xfffffffeu /* whatever lies between is not asked for, or is unknown */

struct follow {
	struct pcce_contexts *set;
	struct namer n;
	/* Matrices: from each state where it begins, to the states that are reached. */
	uint64_t certain, possible;
	uint32_t root; /* where the segment that was followed last begins */
};

/* ---- steps ----------------------------------------------------------------------- */

static void take_matrix(struct follow *f, uint64_t step)
{
	f->certain = pcce_set_product(f->certain, step);
	f->possible = pcce_set_product(f->possible, step);
}

/* Any number of unknown frames. */
static void take_gap(struct follow *f)
{
	f->certain = pcce_set_product(f->certain, f->set->head.persistent);
	for (int q = 0; q < 64; q += 8)
		if (f->possible >> q & ALL_STATES)
			f->possible |= ALL_STATES << q;
	f->root = ROOT_UNKNOWN;
}

/* Between a call and the code that it has reached, where f->root is. */
static void take_glue(struct follow *f, uint32_t callee)
{
	const struct pcce_set_glue *glue = f->set->glue;
	uint32_t low = 0, high = f->set->head.n_glue, wanted = callee & ~PCCE_SET_LEAVES;
	bool found = false;

	if (f->root == ROOT_UNKNOWN || (callee == PCCE_SET_ANY && f->root != ROOT_FOREIGN))
		return;
	while (low < high && f->root != ROOT_OTHER && f->root != ROOT_FOREIGN && !found) {
		uint32_t middle = low + (high - low) / 2;
		const struct pcce_set_glue *g = &glue[middle];

		if (g->callee == wanted && g->root == f->root) {
			found = true;
			low = middle;
		} else if (g->callee < wanted || (g->callee == wanted && g->root < f->root)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (found && glue[low].step)
		take_matrix(f, glue[low].step);
	else if (found || callee & PCCE_SET_LEAVES)
		take_gap(f);
	else if (f->root == ROOT_FOREIGN || callee & PCCE_SET_NAMED)
		take_matrix(f, f->set->head.persistent);
	else if (f->root != ROOT_OTHER)
		take_gap(f);
}

/* From a function with this id to where its segment begins. */
static void climb(struct follow *f, uint32_t func, uint64_t id)
{
	const struct pcce_contexts *s = f->set;

	for (uint32_t steps = s->head.n_funcs; steps; steps--) {
		const struct pcce_set_range *r = s->ranges + s->funcs[func].first;
		uint32_t low = 0, high = s->funcs[func].n;

		while (low < high) {
			uint32_t middle = low + (high - low) / 2;

			if (r[middle].end <= id)
				low = middle + 1;
			else
				high = middle;
		}
		r += low;
		if (low == s->funcs[func].n || id < r->start)
			break;
		if (r->step)
			take_matrix(f, r->step);
		else
			take_gap(f);
		if (r->caller == PCCE_SET_NONE) {
			f->root = r->step ? r->root : ROOT_UNKNOWN;
			return;
		}
		id -= r->start;
		func = r->caller;
	}
	take_gap(f);
}

/* ---- calls ----------------------------------------------------------------------- */

static const struct pcce_set_module *find_set_module(struct follow *f, const struct named_module *m)
{
	const struct pcce_contexts *s = f->set;

	if (m == &main_module)
		return s->program;
	for (uint32_t i = 0; m && i < s->head.n_modules; i++)
		if (s->modules[i].name_a == m->name.a && s->modules[i].name_b == m->name.b)
			return &s->modules[i];
	return NULL;
}

/* The call whose site an entry or ext names; NULL: not in the set. */
static const struct pcce_set_place *find_place(struct follow *f, uint64_t site)
{
	const struct named_module *m = site >> 32 ? namer_find(&f->n, site) : &main_module;
	const struct pcce_set_module *module = find_set_module(f, m);
	const struct pcce_set_place *places;
	uint64_t key;

	if (!module)
		return NULL;
	key = is_in_module(m, site) ? site - m->bias : site;
	places = f->set->places + module->first_place;
	for (uint32_t i = pcce_set_slot(key, module->n_places);;
	     i = (i + 1) & (module->n_places - 1))
		if (places[i].key == key)
			return &places[i];
		else if (!places[i].key)
			return NULL;
}

/* A call that pushed, or with how EXT one that ext names. */
static void follow_call(struct follow *f, uint32_t how, uint64_t site, uint64_t id,
			uint64_t repeated)
{
	const struct pcce_set_place *place = id < PCCE_ID_LOST_MIN ? find_place(f, site) : NULL;

	if (!place || (place->callee & PCCE_SET_EXT) != how) {
		take_gap(f);
		return;
	}
	/* After this number of repetitions nothing changes any more. */
	if (repeated > 2 * PCCE_SET_STATES)
		repeated = 2 * PCCE_SET_STATES;
	for (uint64_t i = 0; i <= repeated; i++) {
		take_glue(f, place->callee);
		climb(f, place->func, id);
	}
}

/* Code that a signal interrupted: known only if it was not instrumented. */
static void follow_interrupted(struct follow *f, const struct pcce_entry *first,
			       const struct pcce_entry *second)
{
	const struct named_module *m = namer_find(&f->n, first->site & PCCE_SITE_MASK);
	bool encoded = !m;

	for (unsigned int i = 0; m && i < sizeof(m->encoding); i++)
		encoded |= m->encoding[i] != 0;
	if (encoded || second->id == PCCE_EXT_CHANGING) {
		take_gap(f);
		return;
	}
	take_matrix(f, f->set->head.persistent);
	f->root = ROOT_FOREIGN;
	if (second->id)
		follow_call(f, PCCE_SET_EXT, second->id, first->id, 0);
	else if (first->id >= PCCE_ID_LOST_MIN)
		take_gap(f);
}

/* Has what is above these entries no known id? */
static bool is_above_unknown(const struct pcce_entry *e, unsigned int n)
{
	return n && e[n - 1].site >> PCCE_SITE_BITS >= PCCE_COUNT_UNKNOWN;
}

/* Newest first. True: the thread began there. */
static bool follow_entries(struct follow *f, const struct pcce_entry *e, unsigned int n)
{
	while (n--) {
		uint64_t kind = e[n].site >> PCCE_SITE_BITS, low = e[n].site & PCCE_SITE_MASK;

		if (kind <= PCCE_COUNT_MAX && !is_above_unknown(e, n)) {
			follow_call(f, 0, low, e[n].id, kind);
		} else if (kind == PCCE_COUNT_LEAF && !is_above_unknown(e, n)) {
			follow_call(f, PCCE_SET_EXT, low, e[n].id, 0);
		} else if (kind == PCCE_COUNT_ORIGIN2) {
			return true;
		} else if (kind == PCCE_COUNT_SIGNAL2 && n) {
			n--;
			if (is_above_unknown(e, n))
				take_gap(f);
			else
				follow_interrupted(f, &e[n], &e[n + 1]);
		} else if (kind != PCCE_COUNT_FILL) {
			take_gap(f);
		}
	}
	return false;
}

/* ---- the segments below ---------------------------------------------------------- */

static uint64_t below_check(const struct set_below *b)
{
	return pcce_name_mix(b->page ^ pcce_name_rotate(b->generation, 20)) ^
	       pcce_name_mix(b->certain | b->possible << 8 | b->callee << 16);
}

static struct set_below *below_place(struct pcce_contexts *s, uint64_t generation)
{
	return &s->below[(generation ^ (uint64_t)(uintptr_t)&pcce_page >> 6) & (BELOW_SIZE - 1)];
}

static bool below_get(struct pcce_contexts *s, uint64_t generation, struct set_below *b)
{
	const volatile struct set_below *p = below_place(s, generation);
	struct set_below c = {p->page, p->generation, p->certain, p->possible, p->callee, p->check};

	if (c.page != (uint64_t)(uintptr_t)&pcce_page || c.generation != generation ||
	    c.check != below_check(&c))
		return false;
	*b = c;
	return true;
}

static void below_put(struct pcce_contexts *s, struct set_below b)
{
	volatile struct set_below *p = below_place(s, b.generation);

	b.check = below_check(&b);
	p->page = b.page;
	p->generation = b.generation;
	p->certain = b.certain;
	p->possible = b.possible;
	p->callee = b.callee;
	p->check = b.check;
}

/* The states in which a matrix begins and ends in one of these. */
static uint64_t begins_of(uint64_t matrix, uint64_t ends)
{
	uint64_t r = 0;

	for (int q = 0; q < PCCE_SET_STATES; q++)
		r |= (uint64_t)((matrix >> 8 * q & ends) != 0) << q;
	return r;
}

/* The callee of the newest call in a segment. */
__attribute__((cold)) static uint32_t newest_callee(struct follow *f, const struct pcce_entry *e,
						    unsigned int n)
{
	const struct pcce_set_place *place = NULL;
	uint64_t kind;

	while (n && e[n - 1].site >> PCCE_SITE_BITS == PCCE_COUNT_FILL)
		n--;
	if (!n)
		return PCCE_SET_ANY;
	kind = e[n - 1].site >> PCCE_SITE_BITS;
	if (kind <= PCCE_COUNT_MAX || kind == PCCE_COUNT_LEAF)
		place = find_place(f, e[n - 1].site & PCCE_SITE_MASK);
	return place ? place->callee : PCCE_SET_ANY;
}

/* Finds the lowest segment that must be followed, as its distance below the current one, and what
 * is known of all below it. */
__attribute__((cold)) static uint32_t
find_followed(struct pcce_contexts *set, const struct segments_below *s, struct set_below *b)
{
	uint64_t generation = s->generation, last = 1u << set->head.last;
	uint32_t k;

	*b = (struct set_below){.certain = last, .possible = last};
	for (k = 0; k < s->n; k++) {
		const struct pcce_entry *base = segment_known(s, k, generation);

		if (!base) {
			b->possible = ALL_STATES;
			break;
		}
		if (base[PCCE_SEGMENT_ENTRIES].site >> PCCE_SITE_BITS == PCCE_COUNT_ORIGIN2 ||
		    below_get(set, generation, b))
			break;
		generation = base->id;
	}
	return k;
}

__attribute__((cold)) static void
follow_segments(struct follow *top, const struct segments_below *s, struct set_below *b)
{
	uint32_t k = find_followed(top->set, s, b);

	while (k--) {
		const struct pcce_entry *base = segment_at(s, k);
		struct follow f = {.set = top->set,
				   .certain = PCCE_SET_IDENTITY,
				   .possible = PCCE_SET_IDENTITY,
				   .root = ROOT_UNKNOWN};

		namer_begin(&f.n);
		follow_entries(&f, base + 1, PCCE_SEGMENT_ENTRIES);
		take_glue(&f, (uint32_t)b->callee);
		*b = (struct set_below){
			.page = (uint64_t)(uintptr_t)&pcce_page,
			.generation = k ? segment_at(s, k - 1)->id : s->generation,
			.certain = begins_of(f.certain, b->certain),
			.possible = begins_of(f.possible, b->possible),
			.callee = newest_callee(&f, base + 1, PCCE_SEGMENT_ENTRIES),
		};
		below_put(f.set, *b);
	}
}

/* Signals wait while the area is read, as in context_id.c. */
__attribute__((noinline, cold)) static void read_below(struct follow *f, struct set_below *b)
{
	const uint64_t all = ~0ULL;
	bool block = !is_confined(CONFINED_NO_MMAP);
	struct segments_below s;
	uint64_t before;

	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	segments_below_read(&s);
	follow_segments(f, &s, b);
	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

/* ---- all together ---------------------------------------------------------------- */

/* The call that asks. */
static void follow_asking(struct follow *f, uint64_t pc)
{
	uint64_t ext = page_ext(), id = pcce_page.id;

	f->root = is_call_of_ext(ext, pc) ? ROOT_UNKNOWN : ROOT_FOREIGN;
	if (ext == PCCE_EXT_CHANGING)
		take_gap(f);
	else if (ext)
		follow_call(f, PCCE_SET_EXT, ext, id, 0);
	else if (id >= PCCE_ID_LOST_MIN)
		take_gap(f);
}

__attribute__((noinline)) int pcce_state_is_in(struct pcce_contexts *set)
{
	uint64_t pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
	uint32_t off = pcce_page.off;
	const struct pcce_entry *entries =
		(const struct pcce_entry *)((const char *)pcce_page.entry + (off & PCCE_OFF_HALF));
	unsigned int n = (off & PCCE_OFF_USED) / sizeof(*entries);
	uint64_t last = 1u << set->head.last;
	struct set_below b = {.certain = last, .possible = last};
	struct follow f = {.set = set, .certain = 1, .possible = 1};
	struct segments_below s;

	if (n > PCCE_SEGMENT_ENTRIES || (!page_ext() && !page_has_entries()) ||
	    is_above_unknown(entries, n))
		return -1;
	namer_begin(&f.n);
	follow_asking(&f, pc);
	if (f.certain & last)
		return 1;
	if (!follow_entries(&f, entries, n) && !(f.certain & last) && segments_below_read(&s)) {
		if (!s.generation || !below_get(set, s.generation, &b))
			read_below(&f, &b);
		take_glue(&f, (uint32_t)b.callee);
	}
	if (f.certain & b.certain)
		return 1;
	return f.possible & b.possible ? -1 : 0;
}

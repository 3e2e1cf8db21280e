/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests the numbering against its definition.
 *
 * A random graph is numbered. Then a simulated program calls, tail-calls and returns on it at
 * random, with the id and the encoding stack that its slots would produce. At each step, the id is
 * decoded through the edges and must give exactly the sites on the simulated stack. This is done
 * for thousands of graphs: with cycles, parallel edges, tail calls (also in circles, and out of the
 * graph), pushes, functions that nothing calls, and limits small enough to force cuts.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pcce/abi.h>
#include "tests/unit/tap.h"
#include "numbering/numbering.h"

#define MAX_DEPTH 200

struct random_graph {
	struct numbering_graph graph;
	struct numbering_site *sites;
	uint8_t *root, *can_enter;
	uint64_t *samples, *entry_count;
};

struct shape {
	uint32_t funcs, sites;
	uint32_t percent_tail, percent_push, percent_root,
		percent_forward; /* forward: callee > caller */
	bool tail_out;
	uint32_t percent_can_enter, percent_sampled, percent_counted, percent_member;
};

static void make_graph(struct random_graph *g, const struct shape *shape, uint64_t *seed)
{
	g->sites = calloc(shape->sites + 1, sizeof(*g->sites));
	g->root = calloc(shape->funcs + 1, 1);
	g->can_enter = calloc(shape->funcs + 1, 1);
	g->samples = calloc(shape->sites + 1, sizeof(*g->samples));
	g->entry_count = calloc(shape->funcs + 1, sizeof(*g->entry_count));
	for (uint32_t f = 0; f < shape->funcs; f++) {
		g->root[f] = f == 0 || tap_random(seed) % 100 < shape->percent_root;
		g->can_enter[f] = tap_random(seed) % 100 < shape->percent_can_enter;
	}
	for (uint32_t i = 0; i < shape->sites; i++) {
		struct numbering_site *s = &g->sites[i];

		s->caller = tap_random(seed) % shape->funcs;
		s->callee = tap_random(seed) % shape->funcs;
		if (tap_random(seed) % 100 < shape->percent_forward && s->callee < s->caller) {
			uint32_t swap = s->caller;

			s->caller = s->callee;
			s->callee = swap;
		}
		s->freq = tap_random(seed) % 3 ? tap_random(seed) % 20000 : 0;
		if (tap_random(seed) % 100 < shape->percent_tail) {
			s->flags = NUMBERING_TAIL;
			if (shape->tail_out && tap_random(seed) % 8 == 0)
				s->callee = NUMBERING_NO_CALLEE;
		} else if (tap_random(seed) % 100 < shape->percent_push) {
			s->flags = NUMBERING_PUSH;
			if (tap_random(seed) % 2)
				s->callee = NUMBERING_NO_CALLEE;
		} else if (shape->percent_member && g->root[s->callee] &&
			   tap_random(seed) % 100 < shape->percent_member) {
			s->flags = NUMBERING_MEMBER;
		}
	}
	for (uint32_t i = 0; i < shape->sites && shape->percent_sampled; i++)
		if (tap_random(seed) % 100 < shape->percent_sampled)
			g->samples[i] = 1ull << tap_random(seed) % 40;
	for (uint32_t f = 0; f < shape->funcs && shape->percent_counted; f++)
		if (tap_random(seed) % 100 < shape->percent_counted)
			g->entry_count[f] = 1 + tap_random(seed) % 1000;
	g->graph = (struct numbering_graph){.n_funcs = shape->funcs,
					    .n_sites = shape->sites,
					    .root = g->root,
					    .sites = g->sites,
					    .can_enter = g->can_enter,
					    .entry_count = g->entry_count,
					    .samples = shape->percent_sampled ? g->samples : NULL};
}

static void free_graph(struct random_graph *g)
{
	free(g->sites);
	free(g->root);
	free(g->can_enter);
	free(g->samples);
	free(g->entry_count);
}

static char problem[200];

#define FAIL(...)                                                \
	do {                                                     \
		snprintf(problem, sizeof(problem), __VA_ARGS__); \
		return false;                                    \
	} while (0)

static bool check_ranges(const struct numbering_graph *g, const struct numbering *n, uint64_t limit)
{
	for (uint32_t i = 0; i < g->n_sites; i++) {
		const struct numbering_site *s = &g->sites[i];

		if (s->flags & NUMBERING_TAIL) {
			if (n->kind[i] != NUMBERED_TAIL)
				FAIL("tail site %u has kind %u", i, n->kind[i]);
			if (n->root[s->caller] && s->callee != NUMBERING_NO_CALLEE &&
			    !n->root[s->callee] &&
			    !(n->tail_out[s->caller] && g->can_enter[s->callee]))
				FAIL("tail site %u leads from a root to %u, which is none", i,
				     s->callee);
			continue;
		}
		if (n->kind[i] == NUMBERED_PUSH) {
			if (s->callee != NUMBERING_NO_CALLEE && !n->root[s->callee] &&
			    !n->entered[s->callee] && !(s->flags & NUMBERING_MEMBER))
				FAIL("push %u leads to %u, which is no root", i, s->callee);
			continue;
		}
		if (n->kind[i] != NUMBERED_VALUE || (s->flags & NUMBERING_PUSH) ||
		    s->callee == NUMBERING_NO_CALLEE)
			FAIL("site %u has kind %u", i, n->kind[i]);
		if (s->flags & NUMBERING_MEMBER && n->value[i])
			FAIL("member %u has the value %llx", i, (unsigned long long)n->value[i]);
		if (n->tail_out[s->callee])
			FAIL("site %u has a value, but its callee leaves the graph by tail calls",
			     i);
		if (n->value[i] >> 31 && n->value[i] & 0xffffffff)
			FAIL("site %u has the value %llx", i, (unsigned long long)n->value[i]);
	}
	for (uint32_t f = 0; f < g->n_funcs; f++) {
		uint64_t end = n->root[f] ? 1 : 0;

		if (g->root[f] && !n->root[f] && !n->entered[f])
			FAIL("root %u was forgotten", f);
		if (n->entered[f] && (n->root[f] || n->tail_out[f] || !g->can_enter[f]))
			FAIL("%u cannot be entered", f);
		if (n->start[f] >> 31)
			FAIL("segments begin in %u with %llx", f, (unsigned long long)n->start[f]);
		if (!n->num_cc[f] || n->num_cc[f] > limit || n->num_cc[f] - 1 > n->largest_id)
			FAIL("function %u has %llu contexts", f, (unsigned long long)n->num_cc[f]);
		for (uint32_t e = n->first_edge[f]; e < n->first_edge[f + 1]; e++) {
			const struct numbering_edge *edge = &n->edges[e];

			bool entry = edge->site == NUMBERING_NO_SITE;

			if (entry && !n->entered[edge->start])
				FAIL("edge %u into %u comes from %u, which is not entered", e, f,
				     edge->start);
			if (edge->callee != f || edge->value < end ||
			    edge->value != (entry ? n->start[edge->start] : n->value[edge->site]))
				FAIL("edge %u into %u overlaps", e, f);
			end = edge->value + (entry ? 1 : n->num_cc[g->sites[edge->site].caller]);
			if (end > n->num_cc[f])
				FAIL("edge %u into %u leaves its range", e, f);
		}
		if (!n->root[f] && n->first_edge[f] == n->first_edge[f + 1])
			FAIL("nothing leads to %u, and it is no root", f);
	}
	return true;
}

/* The edge into func that holds id; -1: none. */
static int64_t find_edge(const struct numbering_graph *g, const struct numbering *n, uint32_t func,
			 uint64_t id)
{
	int64_t found = -1;

	for (uint32_t e = n->first_edge[func]; e < n->first_edge[func + 1]; e++) {
		uint32_t site = n->edges[e].site;
		uint64_t count = site == NUMBERING_NO_SITE ? 1 : n->num_cc[g->sites[site].caller];

		if (id >= n->edges[e].value && id - n->edges[e].value < count)
			found = found == -1 ? (int64_t)e : -2;
	}
	return found;
}

struct play {
	uint32_t sites[MAX_DEPTH]; /* calls in progress, outermost first */
	uint32_t callers[MAX_DEPTH];
	uint32_t depth;
	struct {
		uint64_t id;
		uint32_t site;
	} entry[MAX_DEPTH];
	uint32_t n_entries;
	uint32_t func;
	uint64_t id;
};

static bool decode(const struct numbering_graph *g, const struct numbering *n, const struct play *p)
{
	uint32_t func = p->func, top = p->n_entries;
	uint64_t id = p->id;

	for (uint32_t at = p->depth;;) {
		int64_t edge = find_edge(g, n, func, id);
		uint32_t site;

		if (edge == -1 || (edge >= 0 && n->edges[edge].site == NUMBERING_NO_SITE)) {
			if (edge == -1 && (id || !n->root[func]))
				FAIL("id %llu in %u does not decode", (unsigned long long)id, func);
			if (!top)
				return at == 0 ? true
					       : (snprintf(problem, sizeof(problem),
							   "the context is too short"),
						  false);
			site = p->entry[--top].site;
			id = p->entry[top].id;
		} else if (edge < 0) {
			FAIL("id %llu in %u is ambiguous", (unsigned long long)id, func);
		} else {
			site = n->edges[edge].site;
			id -= n->edges[edge].value;
		}
		func = g->sites[site].caller;
		if (!at || p->sites[at - 1] != site)
			FAIL("decoded site %u at depth %u", site, at);
		at--;
	}
}

/* A random step: a call, a tail call, or a return. */
static void step(const struct numbering_graph *g, const struct numbering *n, struct play *p,
		 const uint32_t *first, const uint32_t *out, uint64_t *seed)
{
	uint32_t count = first[p->func + 1] - first[p->func];

	if (count && p->depth < MAX_DEPTH - 1 && tap_random(seed) % 5) {
		uint32_t site = out[first[p->func] + tap_random(seed) % count];
		const struct numbering_site *s = &g->sites[site];

		if (n->kind[site] == NUMBERED_TAIL) {
			if (s->callee == NUMBERING_NO_CALLEE)
				return;
			if (n->tail_out[p->func] && n->entered[s->callee])
				p->id = n->start[s->callee];
			p->func = s->callee;
			return;
		}
		if (s->callee == NUMBERING_NO_CALLEE ||
		    (s->flags & NUMBERING_MEMBER && n->kind[site] == NUMBERED_PUSH))
			return;
		p->sites[p->depth] = site;
		p->callers[p->depth++] = p->func;
		if (n->kind[site] == NUMBERED_PUSH) {
			p->entry[p->n_entries].id = p->id;
			p->entry[p->n_entries++].site = site;
			p->id = n->start[s->callee];
		} else {
			p->id += n->value[site];
		}
		p->func = s->callee;
	} else if (p->depth) {
		uint32_t site = p->sites[--p->depth];

		p->func = p->callers[p->depth];
		if (n->kind[site] == NUMBERED_PUSH)
			p->id = p->entry[--p->n_entries].id;
		else
			p->id -= n->value[site];
	}
}

static bool play(const struct numbering_graph *g, const struct numbering *n, int steps,
		 uint64_t *seed)
{
	uint32_t *first = calloc(g->n_funcs + 2, sizeof(*first)),
		 *out = malloc((g->n_sites + 1) * sizeof(*out));
	bool good = true;

	for (uint32_t i = 0; i < g->n_sites; i++)
		first[g->sites[i].caller + 2]++;
	for (uint32_t f = 0; f < g->n_funcs; f++)
		first[f + 2] += first[f + 1];
	for (uint32_t i = 0; i < g->n_sites; i++)
		out[first[g->sites[i].caller + 1]++] = i;
	for (uint32_t start = 0; start < g->n_funcs && good; start++) {
		struct play p = {.func = start, .id = n->start[start]};

		if (!g->root[start])
			continue;
		for (int i = 0; i < steps && good; i++) {
			step(g, n, &p, first, out, seed);
			good = decode(g, n, &p);
		}
	}
	free(first);
	free(out);
	return good;
}

static bool equal(const struct numbering_graph *g, const struct numbering *a,
		  const struct numbering *b)
{
	return a->n_edges == b->n_edges && a->n_back == b->n_back && a->n_cut == b->n_cut &&
	       a->largest_id == b->largest_id && !memcmp(a->kind, b->kind, g->n_sites) &&
	       !memcmp(a->value, b->value, g->n_sites * sizeof(*a->value)) &&
	       !memcmp(a->num_cc, b->num_cc, g->n_funcs * sizeof(*a->num_cc)) &&
	       !memcmp(a->root, b->root, g->n_funcs);
}

static void test_random(const char *name, int graphs, const struct shape *base,
			const struct numbering_options *options)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull,
		 limit = options->limit ? options->limit : PCCE_ID_LIMIT;
	uint32_t back = 0, cut = 0;
	int i;

	for (i = 0; i < graphs; i++) {
		struct shape shape = *base;
		struct random_graph g;
		struct numbering n, again;
		bool good;

		shape.funcs = 1 + tap_random(&seed) % base->funcs;
		shape.sites = tap_random(&seed) % base->sites;
		make_graph(&g, &shape, &seed);
		if (numbering_compute(&g.graph, options, &n) ||
		    numbering_compute(&g.graph, options, &again)) {
			tap_ok(false, name, "out of memory");
			return;
		}
		good = check_ranges(&g.graph, &n, limit) && play(&g.graph, &n, 60, &seed);
		if (good && !equal(&g.graph, &n, &again)) {
			snprintf(problem, sizeof(problem), "two runs differ");
			good = false;
		}
		back += n.n_back;
		cut += n.n_cut;
		numbering_free(&n);
		numbering_free(&again);
		free_graph(&g);
		if (!good) {
			tap_ok(false, name, "graph %d (%u functions, %u sites): %s", i, shape.funcs,
			       shape.sites, problem);
			return;
		}
	}
	tap_ok(true, name, " ");
	printf("# %d graphs, %u back edges, %u cuts\n", graphs, back, cut);
}

static void all_random(void)
{
	static const struct shape acyclic = {40, 120, 0, 0, 10, 100, false, 0, 0, 0, 0},
				  cyclic = {40, 120, 0, 10, 10, 0, false, 70, 0, 0, 0},
				  tails = {40, 120, 15, 10, 10, 60, true, 70, 0, 0, 0},
				  many_tails = {30, 90, 50, 5, 5, 30, false, 90, 0, 0, 0},
				  plain_tails = {40, 120, 15, 10, 10, 60, true, 0, 0, 0, 0},
				  roots = {30, 120, 20, 10, 70, 60, true, 100, 0, 0, 0},
				  dense = {12, 300, 5, 3, 10, 50, true, 50, 0, 0, 0},
				  deep = {80, 600, 3, 3, 5, 95, false, 50, 0, 0, 0},
				  sampled = {80, 600, 3, 3, 5, 95, false, 50, 30, 0, 0},
				  sampled_tails = {40, 120, 15, 10, 10, 60, true, 70, 30, 20, 0},
				  sampled_roots = {30, 120, 20, 10, 70, 60, true, 100, 60, 0, 0},
				  counted = {80, 600, 5, 3, 5, 95, true, 50, 0, 90, 0},
				  members = {40, 160, 5, 5, 40, 80, true, 95, 0, 0, 50},
				  acyclic_members = {60, 300, 0, 0, 60, 100, false, 100, 0, 0, 60};
	static const struct numbering_options plain = {}, given = {.given_order = true},
					      small = {.limit = 40}, tiny = {.limit = 4},
					      poor = {.limit = 40, .effort = 200},
					      poorest = {.limit = 1000, .effort = 1};

	test_random("acyclic graphs", tap_rounds(1500), &acyclic, &plain);
	test_random("cyclic graphs", tap_rounds(1500), &cyclic, &plain);
	test_random("tail calls", tap_rounds(1500), &tails, &plain);
	test_random("tail calls, no function can be entered", tap_rounds(1500), &plain_tails,
		    &plain);
	test_random("mostly roots", tap_rounds(1500), &roots, &plain);
	test_random("mostly tail calls", tap_rounds(1500), &many_tails, &plain);
	test_random("dense graphs", tap_rounds(1000), &dense, &plain);
	test_random("deep graphs", tap_rounds(500), &deep, &plain);
	test_random("given order", tap_rounds(1000), &cyclic, &given);
	test_random("given order with tail calls", tap_rounds(1000), &tails, &given);
	test_random("overflow", tap_rounds(1000), &deep, &small);
	test_random("overflow with tail calls", tap_rounds(1000), &tails, &small);
	test_random("overflow with mostly roots", tap_rounds(1000), &roots, &small);
	test_random("overflow of a tiny limit with mostly roots", tap_rounds(1000), &roots, &tiny);
	test_random("overflow with mostly tail calls", tap_rounds(1000), &many_tails, &small);
	test_random("overflow of a tiny limit", tap_rounds(1000), &dense, &tiny);
	test_random("overflow, little effort", tap_rounds(1000), &deep, &poor);
	test_random("overflow with tail calls, little effort", tap_rounds(1000), &tails, &poor);
	test_random("overflow with mostly tail calls, little effort", tap_rounds(1000), &many_tails,
		    &poor);
	test_random("samples", tap_rounds(500), &sampled, &plain);
	test_random("samples, overflow", tap_rounds(1000), &sampled, &small);
	test_random("samples, overflow with tail calls", tap_rounds(1000), &sampled_tails, &small);
	test_random("samples, overflow of a tiny limit", tap_rounds(1000), &sampled_tails, &tiny);
	test_random("samples, overflow with mostly roots", tap_rounds(1000), &sampled_roots, &tiny);
	test_random("samples, overflow, little effort", tap_rounds(1000), &sampled, &poorest);
	test_random("counts of entries, overflow", tap_rounds(1000), &counted, &small);
	test_random("counts of entries, no effort at all", tap_rounds(1000), &counted, &poorest);
	test_random("members of types", tap_rounds(1500), &members, &plain);
	test_random("members of types, no cycles", tap_rounds(1500), &acyclic_members, &plain);
	test_random("members of types, overflow", tap_rounds(1000), &acyclic_members, &small);
	test_random("no effort at all", tap_rounds(1000), &deep, &poorest);
	test_random("no effort at all, tail calls", tap_rounds(1000), &many_tails, &poorest);
}

/* ---- small graphs with known results ----------------------------------------------- */

static bool number(uint32_t n_funcs, uint32_t n_sites, const struct numbering_site *sites,
		   bool given, struct numbering *out)
{
	static uint8_t root[64] = {1};
	struct numbering_graph g = {n_funcs, n_sites, root, sites, NULL, NULL, NULL, NULL};
	struct numbering_options options = {.given_order = given};

	return !numbering_compute(&g, &options, out) && check_ranges(&g, out, PCCE_ID_LIMIT);
}

/* Algorithm 1: numCC is the sum over the in-edges, each edge's value the sum over those before it.
 * D calls E twice. */
static void test_paper_acyclic(void)
{
	enum { A, B, C, D, E, F, G };
	static const struct numbering_site sites[] = {
		{A, B, 0, 1}, {A, C, 0, 1}, {B, D, 0, 1}, {C, D, 0, 1}, {D, E, 0, 1},
		{D, E, 0, 1}, {D, F, 0, 1}, {C, F, 0, 1}, {E, G, 0, 1}, {F, G, 0, 1},
	};
	static const uint64_t values[] = {0, 0, 0, 1, 0, 2, 0, 2, 0, 4},
			      counts[] = {1, 1, 1, 2, 4, 3, 7};
	struct numbering n;
	bool good = number(7, 10, sites, true, &n);

	good = good && !memcmp(n.value, values, sizeof(values)) &&
	       !memcmp(n.num_cc, counts, sizeof(counts));
	tap_ok(good && n.n_back == 0 && n.largest_id == 6,
	       "acyclic example, edges in the order given", "%s", problem);
	/* ABDF 0, ACDF 1, ACF 2: the paper's first example. */
	tap_ok(good && n.value[2] + n.value[6] == 0 && n.value[3] + n.value[6] == 1 &&
		       n.value[7] == 2,
	       "the three contexts of F are 0, 1 and 2", " ");
	numbering_free(&n);
}

/* Algorithm 3: back edges are pushes, and their targets get a dummy edge with the value 0. */
static void test_paper_recursive(void)
{
	enum { A, B, C, D, F };
	static const struct numbering_site sites[] = {
		{A, C, 0, 1}, {A, B, 0, 1}, {B, D, 0, 1}, {C, D, 0, 1},
		{D, F, 0, 1}, {C, F, 0, 1}, {F, C, 0, 1},
	};
	struct numbering n;
	bool good = number(5, 7, sites, true, &n);

	good = good && n.n_back == 1 && n.kind[6] == NUMBERED_PUSH && n.root[C];
	/* C: the dummy edge has [0, 1), A -> C the rest. */
	good = good && n.value[0] == 1 && n.num_cc[C] == 2 && n.value[2] == 0 && n.value[3] == 1 &&
	       n.num_cc[D] == 3 && n.value[4] == 0 && n.value[5] == 3 && n.num_cc[F] == 5;
	tap_ok(good, "recursive example, edges in the order given",
	       "%s; back %u, C %llu, D %llu, F %llu", problem, n.n_back,
	       (unsigned long long)n.num_cc[C], (unsigned long long)n.num_cc[D],
	       (unsigned long long)n.num_cc[F]);
	numbering_free(&n);
}

static void test_choices(void)
{
	struct numbering n;

	/* The hottest of three calls gets 0, wherever it stands. */
	static const struct numbering_site hot[] = {{0, 1, 0, 10}, {0, 1, 0, 5000}, {0, 1, 0, 100}};

	tap_ok(number(2, 3, hot, false, &n) && n.value[1] == 0 && n.value[0] && n.value[2],
	       "the hottest in-edge has value 0", "%s", problem);
	numbering_free(&n);

	/* Both callers are entered through pointers; only a profile knows how often. */
	static const struct numbering_site callers[] = {{1, 3, 0, 2048}, {2, 3, 0, 1024}};
	static const uint8_t all_roots[] = {1, 1, 1, 0};
	static const uint64_t entry_count[] = {2, 11, 101, 0};
	static uint64_t samples[] = {5, 3};
	struct numbering_graph profiled = {4, 2, all_roots, callers, NULL, NULL, NULL, NULL};

	tap_ok(!numbering_compute(&profiled, NULL, &n) && n.value[0] == 0 && n.value[1],
	       "callers that pointers lead to count alike", " ");
	numbering_free(&n);
	profiled.entry_count = entry_count;
	tap_ok(!numbering_compute(&profiled, NULL, &n) && n.value[0] && n.value[1] == 0,
	       "but as often as a profile says, if there is one", " ");
	numbering_free(&n);
	profiled.samples = samples;
	tap_ok(!numbering_compute(&profiled, NULL, &n) && n.value[0] == 0 && n.value[1],
	       "and as hot as samples say, if there are any", " ");
	numbering_free(&n);
	samples[0] = 0;
	samples[1] = 0;
	tap_ok(!numbering_compute(&profiled, NULL, &n) && n.value[0] && n.value[1] == 0,
	       "none of them is no answer", " ");
	numbering_free(&n);

	/* A parser: expression, term, factor, and rarely back. */
	static const struct numbering_site parser[] = {
		{0, 1, 0, 1024},
		{3, 1, 0, 50},
		{1, 2, 0, 2048},
		{2, 3, 0, 2048},
	};

	tap_ok(number(4, 4, parser, false, &n) && n.n_back == 1 && n.kind[1] == NUMBERED_PUSH,
	       "the coldest edge of a cycle is the back edge", "%s", problem);
	numbering_free(&n);

	/* A push at the second call is three times as frequent, but costs a quarter. */
	static const struct numbering_site room[] = {
		{0, 1, 0, 1024}, {1, 2, 0, 100}, {2, 1, NUMBERING_ROOM, 3072}, {2, 3, 0, 1}};

	tap_ok(number(4, 4, room, false, &n) && n.n_back == 1 && n.kind[2] == NUMBERED_PUSH,
	       "a cycle is broken where there is room for a push", "%s", problem);
	numbering_free(&n);

	/* Two cycles that share one edge; cutting it would be one push instead of two, but it is
	 * hot. */
	static const struct numbering_site shared[] = {
		{0, 1, 0, 1024}, {1, 2, 0, 8192}, {2, 1, 0, 1}, {2, 3, 0, 100}, {3, 1, 0, 1},
	};

	tap_ok(number(4, 5, shared, false, &n) && n.kind[1] == NUMBERED_VALUE &&
		       n.kind[2] == NUMBERED_PUSH && n.kind[4] == NUMBERED_PUSH,
	       "a hot edge shared by cycles is kept", "%s", problem);
	numbering_free(&n);

	/* f is called, g is called, f tail-calls g: the ranges in g must not meet. */
	static const struct numbering_site tail[] = {
		{0, 1, 0, 10}, {0, 2, 0, 20}, {1, 2, NUMBERING_TAIL, 1024}};

	tap_ok(number(3, 3, tail, false, &n) && n.value[1] == 0 && n.value[0] == 1 &&
		       n.num_cc[2] == 2 && n.num_cc[1] == 2,
	       "a site is an edge to what its callee tail-calls", "%s", problem);
	numbering_free(&n);

	/* Self recursion, and a function that nothing calls. */
	static const struct numbering_site self[] = {{0, 1, 0, 10}, {1, 1, 0, 20}, {2, 1, 0, 1}};

	tap_ok(number(3, 3, self, false, &n) && n.kind[1] == NUMBERED_PUSH && n.n_back == 1 &&
		       n.root[2],
	       "self recursion", "%s", problem);
	numbering_free(&n);

	/* A tail call out of the graph. */
	static const struct numbering_site out[] = {{0, 1, 0, 10},
						    {1, 2, NUMBERING_TAIL, 1},
						    {2, NUMBERING_NO_CALLEE, NUMBERING_TAIL, 1}};

	tap_ok(number(3, 3, out, false, &n) && n.kind[0] == NUMBERED_PUSH && n.tail_out[1] &&
		       n.tail_out[2] && n.root[1] && n.root[2] && !n.n_back && !n.n_cut,
	       "what tail-calls out of the graph is entered by push only", "%s", problem);
	numbering_free(&n);
}

/*
 * The last function is called by one with 2^32 contexts, `times` as often as by one with one.
 * Values beyond 2^31 are expensive, and all sites after the former have one.
 */
static void test_large_value(uint32_t times, bool small_first, const char *name)
{
	enum { LEVELS = 32, SMALL = 2 * LEVELS, LARGE };
	struct numbering_site sites[2 * LEVELS + 2];
	struct numbering n;
	bool good;

	for (uint32_t i = 0; i < 2 * LEVELS; i++)
		sites[i] = (struct numbering_site){i / 2, i / 2 + 1, 0, 512};
	sites[SMALL] = (struct numbering_site){0, LEVELS + 1, 0, 1024};
	sites[LARGE] = (struct numbering_site){LEVELS, LEVELS + 1, 0, 1024 * times};
	good = number(LEVELS + 2, 2 * LEVELS + 2, sites, false, &n);
	if (small_first)
		good = good && n.value[SMALL] == 0 && n.value[LARGE] == 1;
	else
		good = good && n.value[LARGE] == 0 && n.value[SMALL] >> 31;
	tap_ok(good, name, "%s; values %llx and %llx", problem, (unsigned long long)n.value[SMALL],
	       (unsigned long long)n.value[LARGE]);
	numbering_free(&n);
}

/* Each level calls the next one twice: contexts double. */
static void test_ladder(uint32_t levels, uint64_t limit, uint32_t most_cuts, uint64_t largest,
			const char *name)
{
	struct numbering_options options = {.limit = limit};
	struct numbering_site *sites = calloc(2 * levels, sizeof(*sites));
	uint8_t *root = calloc(levels + 1, 1);
	struct numbering_graph g = {levels + 1, 2 * levels, root, sites, NULL, NULL, NULL, NULL};
	struct numbering n;
	bool good;

	root[0] = 1;
	for (uint32_t i = 0; i < levels; i++) {
		/* Every 20th level is called rarely: the place to cut. */
		uint32_t freq = i % 20 == 13 ? 1 : 1024;

		sites[2 * i] = (struct numbering_site){i, i + 1, 0, freq};
		sites[2 * i + 1] =
			(struct numbering_site){i, i + 1, 0, i % 20 == 14 ? 1024 * 500 : freq};
	}
	good = !numbering_compute(&g, &options, &n) && check_ranges(&g, &n, PCCE_ID_LIMIT);
	for (uint32_t i = 0; good && i < 2 * levels; i++)
		if (n.kind[i] == NUMBERED_PUSH && i / 2 % 20 != 13 &&
		    i / 2 > 60) /* the first levels are cold, too */
			good = false;
	tap_ok(good && n.n_cut <= most_cuts && (levels < 70 || n.n_cut) && n.largest_id < largest,
	       name, "%s; %u cuts", problem, n.n_cut);
	printf("# %u cuts, largest id %llx\n", n.n_cut, (unsigned long long)n.largest_id);
	numbering_free(&n);
	free(sites);
	free(root);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Of the executions of direct calls, by the numbering's own estimate, the percentage cut. */
static double cut_percentage(const struct numbering_graph *g, const struct numbering *n,
			     const double *entries)
{
	double all = 0, cut = 0;

	for (uint32_t i = 0; i < g->n_sites; i++) {
		double weight = entries[g->sites[i].caller] * g->sites[i].freq;

		if (g->sites[i].callee == NUMBERING_NO_CALLEE)
			continue;
		all += weight;
		cut += n->cut[i] ? weight : 0;
	}
	return 100 * cut / all;
}

/*
 * Forty layers of functions, each of which calls ten of the next layer: 10^39 contexts, which no
 * few cuts can avoid. A layer in eight is called rarely. All ids must be small, and few executions
 * cut: 2.9 % if all cuts are there.
 */
static void test_layers(uint32_t width, bool tails, double most_cut, double most_seconds,
			const char *name)
{
	const uint32_t layers = 40, calls = 10, funcs = layers * width;
	uint32_t n_sites = (layers - 1) * width * calls;
	struct numbering_site *sites = calloc(n_sites, sizeof(*sites));
	uint8_t *root = calloc(funcs, 1), *can_enter = calloc(funcs, 1);
	double *entries = calloc(funcs, sizeof(*entries)), begin;
	struct numbering_graph g = {funcs, n_sites, root, sites, can_enter, NULL, NULL, NULL};
	struct numbering n;
	uint64_t seed = 7;
	bool good;

	for (uint32_t f = 0; f < funcs; f++) {
		root[f] = f < width;
		can_enter[f] = f % 3 > 0;
		entries[f] = root[f];
	}
	for (uint32_t i = 0; i < n_sites; i++) {
		uint32_t caller = i / calls, layer = caller / width;
		uint32_t callee = (layer + 1) * width + tap_random(&seed) % width;
		uint32_t freq = layer % 8 == 3 ? 10 : 93 + tap_random(&seed) % 100;

		sites[i] = (struct numbering_site){caller, callee, 0, freq};
		if (tails && tap_random(&seed) % 100 == 0)
			sites[i].flags = NUMBERING_TAIL;
		entries[callee] += entries[caller] * freq / 1024;
	}
	begin = seconds();
	good = !numbering_compute(&g, NULL, &n);
	begin = seconds() - begin;
	good = good && check_ranges(&g, &n, 1ull << 31) && play(&g, &n, 60, &seed);
	good = good && n.n_cut && cut_percentage(&g, &n, entries) <= most_cut;
	tap_ok(good && begin <= most_seconds, name, "%s; %.1f s", problem, begin);
	printf("# %u sites: %.2f s, %u cuts, %.2f %% of the executions, largest id %llx\n", n_sites,
	       begin, n.n_cut, cut_percentage(&g, &n, entries), (unsigned long long)n.largest_id);
	numbering_free(&n);
	free(sites);
	free(root);
	free(can_enter);
	free(entries);
}

/* Like a large program: mostly calls to what is near, some to helpers that everything calls, some
 * back. */
static void test_large(uint32_t funcs, uint32_t sites_per_func, double most_seconds,
		       const char *name)
{
	uint32_t n_sites = funcs * sites_per_func;
	struct numbering_site *sites = calloc(n_sites, sizeof(*sites));
	uint8_t *root = calloc(funcs, 1);
	struct numbering_graph g = {funcs, n_sites, root, sites, NULL, NULL, NULL, NULL};
	struct numbering n;
	uint64_t seed = 42;
	double begin;
	bool good;

	root[0] = 1;
	for (uint32_t i = 0; i < n_sites; i++) {
		uint32_t caller = i / sites_per_func, callee;

		switch (tap_random(&seed) % 8) {
		case 0:
			callee = funcs - 1 - tap_random(&seed) % (funcs / 100 + 1);
			break;
		case 1:
			callee = tap_random(&seed) % funcs;
			break;
		default:
			callee = (caller + 1 + tap_random(&seed) % 2000) % funcs;
			break;
		}
		sites[i] = (struct numbering_site){caller, callee, 0, tap_random(&seed) % 4096};
		if (tap_random(&seed) % 40 == 0)
			sites[i].flags = NUMBERING_TAIL;
		else if (tap_random(&seed) % 20 == 0)
			sites[i] = (struct numbering_site){caller, NUMBERING_NO_CALLEE,
							   NUMBERING_PUSH, 1024};
		if (tap_random(&seed) % 500 == 0)
			root[caller] = 1;
	}
	begin = seconds();
	good = !numbering_compute(&g, NULL, &n);
	begin = seconds() - begin;
	good = good && check_ranges(&g, &n, PCCE_ID_LIMIT);
	tap_ok(good && begin <= most_seconds, name, "%s; %.1f s", problem, begin);
	printf("# %u functions, %u sites: %.2f s, %u back edges, %u cuts, largest id %llx\n", funcs,
	       n_sites, begin, n.n_back, n.n_cut, (unsigned long long)n.largest_id);
	numbering_free(&n);
	free(sites);
	free(root);
}

int main(void)
{
	struct numbering_graph empty = {};
	struct numbering n;

	tap_ok(!numbering_compute(&empty, NULL, &n) && !n.n_edges && !n.largest_id,
	       "an empty graph", " ");
	numbering_free(&n);
	test_paper_acyclic();
	test_paper_recursive();
	test_choices();
	all_random();
	test_large_value(4, true,
			 "a caller with very many contexts does not drive others to large values");
	test_large_value(400, false, "but if it is far hotter than they are");
	test_ladder(40, PCCE_ID_LIMIT, 0, PCCE_ID_LIMIT, "40 doublings fit");
	test_ladder(1000, PCCE_ID_LIMIT, 60, PCCE_ID_LIMIT,
		    "1,000 doublings are cut where it is cold");
	test_ladder(45, 0, 8, 1ull << 39, "45 doublings are cut, for small ids");
	test_ladder(1000, 0, 100, 1ull << 31, "so are 1,000, all of them where it is cold");
	test_layers(256, false, 6, 20, "100,000 sites: small ids, by many cuts where it is cold");
	test_layers(256, true, 12, 20, "the same with tail calls");
	/* A bound against quadratic behaviour, not a measurement: the limit is many times what is
	 * needed. */
	test_large(20000, 5, 60, "20,000 functions");
	if (getenv("PCCE_TEST_LONG")) {
		test_layers(2560, false, 6, 200, "1,000,000 sites: small ids, by many cuts");
		test_large(100000, 5, 60, "100,000 functions");
		test_large(1000000, 10, 600, "1,000,000 functions");
	}
	return tap_done();
}

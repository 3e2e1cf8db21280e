/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Assigns the ranges of ids (Sumner et al., ICSE 2010, Algorithms 1 and 3), and cuts sites where
 * ids overflow.
 *
 * Order. The range of a site can be fixed when its caller's num_cc is final, so when all sites into
 * the caller have their ranges. The hottest site into a function should get the value 0, so all
 * sites into it should be considered at once. A site leads to all of T(site). So functions that
 * tail calls connect form a group. Functions are taken in topological order, a whole group when all
 * callers of all its members are final. Calls inside a group (f tail-calls g and also calls it) can
 * prevent this. If no group is ready, a function whose own callers are final is taken alone.
 *
 * Values. v = max over T(site) of next[t]; then next[t] = v + num_cc(caller) for all of T(site). v
 * is below 2^31 or a multiple of 2^32, so that one instruction can add it. The hottest site comes
 * first; it gets 0 if T(site) has no root. The entries of functions follow, which have one context
 * each. Then come sites with few contexts, because a range that begins beyond 2^31 costs at least
 * 2^32 ids.
 *
 * Such a range also costs time. An addition to the whole id waits until the preceding addition to
 * its upper half has reached the cache: 12 cycles for a call on a Zen 4, ten times as long as with
 * a small value. So a site with 2^31 contexts or more comes first only if it is far hotter than all
 * smaller ones together. Otherwise the hottest smaller one comes first. The hottest large one then
 * follows directly after the small ones, and mostly has a small value too. LARGE_PRICE is more than
 * ten, since the estimates are unreliable: a wrong choice costs one addition in one case, several
 * in the other.
 *
 * Overflow. If a range would exceed the limit in t, a function x on the way to t, or t itself, is
 * chosen. The sites into x with many contexts become pushes. Contexts then begin at x again, and
 * all functions after it have fewer. The best x maximizes f * log2(num_cc(x)) / (executions of the
 * sites to cut). f is the share of t's contexts that pass through x: num_cc(x) * (paths from x to
 * t) / num_cc(t).
 *
 * Cuts make new roots, so the whole pass is repeated until nothing overflows. Within a pass,
 * functions after a cut are computed as if the cut had succeeded, so one pass finds cuts all over
 * the graph. After the effort is used up, a last pass cuts where the overflow appears. In it, every
 * function that could become a root too late keeps id 0 free from the beginning.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "numbering/steps.h"

/* smaller values are added to the whole id; only smaller ids are set */
#define SMALL_VALUES (1ull << 31) /* smaller values are added to the whole id */
#define LARGE_STEP (1ull << 32)	  /* other values are added to its upper half */
/* The price of an addition to the upper half, in additions of small values; see above. */
#define LARGE_PRICE 32
#define BITS_MIN 4 /* a cut that saves fewer bits is not worth it */
#define MEMBER_WEIGHT 1e300
#define NO_WEIGHT 1e-3 /* the price of a site that is never executed, as far as is known */

struct candidate {
	double weight, key;
	uint64_t count; /* num_cc of the caller */
	uint32_t site;
};

struct ranges {
	struct numbering_work *w;
	/* per function: sites and entries whose T contains it */
	struct numbering_adjacency in;
	uint64_t n_in;
	uint32_t *group;		    /* of each function: its representative */
	struct numbering_adjacency members; /* per representative */
	uint32_t *pending, *group_pending;
	uint64_t *next;
	uint8_t *final, *assigned;
	/* functions whose num_cc supposes a successful cut, until the pass ends */
	uint8_t *provisional;
	uint32_t *order, n_order; /* functions in the order of becoming final */
	uint32_t *ready, *deferred;
	double *paths;
	struct candidate *candidates;
	uint64_t keep; /* contexts that a cut function may keep */
	bool last;     /* the last pass, which cuts where the overflow appears */
	bool again;    /* this pass made cuts, so another one follows */
};

static uint32_t find_group(uint32_t *group, uint32_t f)
{
	while (group[f] != f) {
		group[f] = group[group[f]];
		f = group[f];
	}
	return f;
}

static bool edge_member(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	const uint32_t *group = ctx;

	*from = group[i];
	*item = i;
	return true;
}

/* Can the edge have a value, now or after some cuts? */
static bool may_have_value(const struct numbering_work *w, uint32_t edge)
{
	return numbering_is_entry(w, edge) ? numbering_can_enter(w, numbering_edge_callee(w, edge))
					   : numbering_site_has_value(w, edge);
}

/* Builds the groups and the lists of edges into each function. */
static int build_lists(struct ranges *r)
{
	const struct numbering_work *w = r->w;
	const struct numbering_graph *g = w->graph;
	uint32_t self, n, n_all = g->n_sites + g->n_funcs;
	size_t total = 0;

	for (uint32_t f = 0; f < g->n_funcs; f++)
		r->group[f] = f;
	for (uint32_t i = 0; i < n_all; i++) {
		if (!may_have_value(w, i))
			continue;
		const uint32_t *t = numbering_closure(w, numbering_edge_callee(w, i), &self, &n);

		total += n;
		while (n--) {
			uint32_t a = find_group(r->group, t[n]),
				 b = find_group(r->group, numbering_edge_callee(w, i));

			r->in.first[t[n] + 2]++;
			if (a < b)
				r->group[b] = a;
			else
				r->group[a] = b;
		}
	}
	for (uint32_t f = 0; f < g->n_funcs; f++) {
		r->in.first[f + 2] += r->in.first[f + 1];
		r->group[f] = find_group(r->group, f);
	}
	r->n_in = total;
	r->in.item = malloc((total + 1) * sizeof(uint32_t));
	r->candidates = malloc((total + 1) * sizeof(*r->candidates));
	if (total > UINT32_MAX || !r->in.item || !r->candidates)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_all; i++) {
		if (!may_have_value(w, i))
			continue;
		const uint32_t *t = numbering_closure(w, numbering_edge_callee(w, i), &self, &n);

		while (n--)
			r->in.item[r->in.first[t[n] + 1]++] = i;
	}
	return numbering_adjacency_build(&r->members, g->n_funcs, g->n_funcs, edge_member,
					 r->group);
}

static uint64_t round_value(uint64_t v)
{
	return v < SMALL_VALUES ? v : (v + LARGE_STEP - 1) & ~(LARGE_STEP - 1);
}

static int compare_hot(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static int compare_count(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->count != b->count && (a->count < SMALL_VALUES || b->count < SMALL_VALUES))
		return a->count < b->count ? -1 : 1;
	return compare_hot(pa, pb);
}

static int compare_key(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return compare_hot(pa, pb);
}

COMPARE_BY1(compare_site, struct candidate, site);

static void cut_site(struct ranges *r, uint32_t site)
{
	/* The last pass has kept id 0 free, but no id for an entry. */
	numbering_cut_site(r->w, site, r->last);
	r->again = true;
}

/*
 * The number of contexts that a cut leaves a function with count contexts: the square root, which
 * halves the bits.
 */
static uint64_t contexts_to_keep(const struct ranges *r, double count)
{
	uint64_t keep = 1;

	while (keep < r->keep && (double)keep * (double)keep < count)
		keep *= 2;
	return keep < r->keep ? keep : r->keep;
}

/*
 * Cuts sites into x until at most keep contexts are left. Sites with many contexts and few
 * executions go first. Returns the number of cut sites. With dry, cuts nothing and estimates the
 * cost.
 */
static uint32_t cut_function(struct ranges *r, uint32_t x, uint64_t keep, bool dry, double *cost)
{
	const struct numbering_work *w = r->w;
	uint32_t n = 0, n_cut = 0;
	uint64_t kept = 0;

	/*
	 * Use the end of the array of candidates: a caller uses its front, and no longer after a
	 * cut.
	 */
	struct candidate *c = r->candidates + r->n_in - (r->in.first[x + 1] - r->in.first[x]);

	for (uint32_t i = r->in.first[x]; i < r->in.first[x + 1]; i++) {
		uint32_t site = r->in.item[i];

		if (numbering_is_entry(w, site) || !numbering_site_has_value(w, site))
			continue;
		uint64_t count = numbering_edge_count(w, site);
		double weight = w->weight[site] + NO_WEIGHT;

		if (!dry) {
			c[n++] = (struct candidate){weight, count / weight, count, site};
		} else if (count > keep / 16) {
			*cost += weight;
			n_cut++;
		}
	}
	if (dry)
		return n_cut;
	qsort(c, n, sizeof(*c), compare_key);
	for (uint32_t i = 0; i < n; i++) {
		if (c[i].count <= keep - kept) {
			kept += c[i].count;
		} else {
			cut_site(r, c[i].site);
			n_cut++;
		}
	}
	return n_cut;
}

/* Chooses the best function to cut for an overflow in t. All callers of t are final. */
static uint32_t choose_cut(struct ranges *r, uint32_t t, uint64_t *keep_out)
{
	struct numbering_work *w = r->w;
	double total = 0, best = 0;
	uint32_t choice = t, last = r->n_order;

	memset(r->paths, 0, w->graph->n_funcs * sizeof(*r->paths));
	r->paths[t] = 1;
	for (uint32_t i = r->in.first[t]; i < r->in.first[t + 1]; i++)
		if (numbering_edge_has_value(w, r->in.item[i]))
			total += numbering_edge_count(w, r->in.item[i]);
	/* First t, then the functions that became final before it, backwards. */
	for (uint32_t at = last + 1; at-- > 0;) {
		uint32_t x = at == last ? t : r->order[at];
		double count = x == t ? total : (double)w->out->num_cc[x];

		/* After a cut, the counts are still those from before it. */
		if (r->paths[x] == 0 || r->provisional[x] || (at != last && x == t))
			continue;
		if (!numbering_take_steps(w, 2 + r->in.first[x + 1] - r->in.first[x]))
			break;
		for (uint32_t i = r->in.first[x]; i < r->in.first[x + 1]; i++)
			if (!numbering_is_entry(w, r->in.item[i]) &&
			    numbering_site_has_value(w, r->in.item[i]))
				r->paths[w->graph->sites[r->in.item[i]].caller] += r->paths[x];
		uint64_t keep = contexts_to_keep(r, count);
		double share = count * r->paths[x] / total, cost = 0, score;
		int bits = 0;

		for (double c = count; c >= 2.0 * keep; c /= 2)
			bits++;
		if (bits < BITS_MIN || !cut_function(r, x, keep, true, &cost))
			continue;
		score = (share < 1 ? share : 1) * bits / cost;
		if (score > best) {
			best = score;
			choice = x;
			*keep_out = keep;
		}
	}
	return choice;
}

/*
 * Handles a range that did not fit into all of T(site). fullest is the function with the least
 * room. Only functions whose callers are all final may lose sites, since the pass still counts the
 * sites of others.
 */
static void handle_overflow(struct ranges *r, uint32_t site, const uint32_t *t, uint32_t n_t,
			    uint32_t fullest)
{
	const struct numbering_work *w = r->w;
	uint32_t x = fullest;
	uint64_t keep = r->keep;

	if (!r->last) {
		for (uint32_t k = 0; r->pending[x] && k < n_t; k++)
			x = t[k];
		x = choose_cut(r, x, &keep);
	}

	if (r->last || !cut_function(r, x, keep, false, NULL))
		if (numbering_site_has_value(w, site))
			cut_site(r, site);
}

/* Members of types come first, then the hottest sites, then entries. */
static double order_weight(const struct numbering_work *w, uint32_t edge)
{
	if (numbering_is_entry(w, edge))
		return -1;
	return w->graph->sites[edge].flags & NUMBERING_MEMBER ? MEMBER_WEIGHT : w->weight[edge];
}

/* Gathers the edges into a set of functions that have no range yet: hottest first, entries last. */
static uint32_t gather_edges(struct ranges *r, const uint32_t *set, uint32_t n_set)
{
	const struct numbering_work *w = r->w;
	uint32_t n = 0;

	for (uint32_t k = 0; k < n_set; k++) {
		for (uint32_t i = r->in.first[set[k]]; i < r->in.first[set[k] + 1]; i++) {
			uint32_t site = r->in.item[i];

			if (!numbering_edge_has_value(w, site) || r->assigned[site])
				continue;
			r->assigned[site] = 1;
			r->candidates[n++] = (struct candidate){
				order_weight(w, site), 0, numbering_edge_count(w, site), site};
		}
	}
	qsort(r->candidates, n, sizeof(*r->candidates),
	      w->given_order ? compare_site : compare_hot);
	return n;
}

/* In the last pass: would the edges into one function fit? They are candidates[first .. n). */
static bool would_fit(const struct ranges *r, uint32_t first, uint32_t n, uint64_t next)
{
	for (uint32_t i = first; i < n; i++) {
		uint64_t v = round_value(next);

		if (v > r->w->limit || r->candidates[i].count > r->w->limit - v)
			return false;
		next = v + r->candidates[i].count;
	}
	return true;
}

/*
 * Returns the first id that is free in all of T(edge). fullest: the function with the least room.
 */
static uint64_t next_value(const struct ranges *r, const uint32_t *t, uint32_t n_t,
			   uint32_t *fullest)
{
	uint64_t v = 0;

	*fullest = t[0];
	for (uint32_t k = 0; k < n_t; k++) {
		if (r->next[t[k]] > v) {
			v = r->next[t[k]];
			*fullest = t[k];
		}
	}
	return round_value(v);
}

static void assign_value(struct ranges *r, const struct candidate *c, uint64_t v, const uint32_t *t,
			 uint32_t n_t)
{
	*numbering_edge_value(r->w, c->site) = v;
	for (uint32_t k = 0; k < n_t; k++)
		r->next[t[k]] = v + c->count;
}

/* Orders candidates: those with the value 0, entries, others. */
static int compare_key_count(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return compare_count(pa, pb);
}

/*
 * Is it too expensive that a site whose caller has 2^31 contexts gets 0? It would push all other
 * values beyond 2^31. After the sites with few contexts, it has a small value, and so have they.
 * The gain is large and the loss small (LARGE_PRICE).
 */
static bool large_first_is_dear(const struct ranges *r, uint32_t n)
{
	double small = 0, large = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct candidate *c = &r->candidates[i];

		if (numbering_is_entry(r->w, c->site))
			continue;
		if (c->count < SMALL_VALUES)
			small += c->weight;
		else if (c->weight > large)
			large = c->weight;
	}
	return large < LARGE_PRICE * small;
}

/*
 * Gives the value 0 to as many candidates as possible, hottest first, and puts the others into
 * their order. Returns the number of candidates with 0.
 */
static uint32_t assign_zeros(struct ranges *r, uint32_t n, uint32_t n_set)
{
	uint32_t zeros = 0, entries = 0;
	uint64_t most = r->w->limit;

	for (uint32_t i = n; i-- > 0 && numbering_is_entry(r->w, r->candidates[i].site);)
		entries++;
	/* Entries need ids after it. */
	if (entries || large_first_is_dear(r, n))
		most = most < SMALL_VALUES ? most : SMALL_VALUES;
	most = most > entries ? most - entries : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct candidate *c = &r->candidates[i];
		uint32_t self, n_t, fullest;
		const uint32_t *t =
			numbering_closure(r->w, numbering_edge_callee(r->w, c->site), &self, &n_t);

		c->key = numbering_is_entry(r->w, c->site) ? 1 : 2;
		if (c->key == 1 || c->count > most || next_value(r, t, n_t, &fullest))
			continue;
		assign_value(r, c, 0, t, n_t);
		c->key = 0;
		zeros++;
	}
	qsort(r->candidates, n, sizeof(*r->candidates),
	      n_set == 1 ? compare_key_count : compare_key);
	return zeros;
}

/* Handles an edge whose range did not fit into all of T(edge). */
static void give_up_edge(struct ranges *r, uint32_t edge, const uint32_t *t, uint32_t n_t,
			 uint32_t fullest)
{
	if (numbering_is_entry(r->w, edge)) {
		numbering_make_root(r->w, numbering_edge_callee(r->w, edge));
		r->again = true;
		return;
	}
	handle_overflow(r, edge, t, n_t, fullest);
	if (r->last)
		return;
	for (uint32_t k = 0; k < n_t; k++) {
		r->next[t[k]] = r->keep;
		r->provisional[t[k]] = 1;
	}
}

static void assign_ranges(struct ranges *r, const uint32_t *set, uint32_t n_set)
{
	struct numbering_work *w = r->w;
	uint32_t n = gather_edges(r, set, n_set),
		 zeros = w->given_order ? 0 : assign_zeros(r, n, n_set);

	if (r->last && n_set == 1 && !would_fit(r, zeros, n, r->next[set[0]]) &&
	    r->members.first[r->group[set[0]]] + 1 == r->members.first[r->group[set[0]] + 1]) {
		for (uint32_t i = 0; i < n; i++)
			r->assigned[r->candidates[i].site] = 0;
		cut_function(r, set[0], r->keep, false, NULL);
		r->next[set[0]] = 1;
		n = gather_edges(r, set, n_set);
		zeros = w->given_order ? 0 : assign_zeros(r, n, n_set);
	}
	for (uint32_t i = zeros; i < n; i++) {
		const struct candidate c = r->candidates[i];
		uint32_t self, n_t, fullest;
		const uint32_t *t =
			numbering_closure(w, numbering_edge_callee(w, c.site), &self, &n_t);
		uint64_t v = next_value(r, t, n_t, &fullest);

		if (v <= w->limit && c.count <= w->limit - v &&
		    !(numbering_is_entry(w, c.site) && v >= SMALL_VALUES)) {
			assign_value(r, &c, v, t, n_t);
			continue;
		}
		/* The cuts may concern sites that follow here; the pass is repeated anyway. */
		give_up_edge(r, c.site, t, n_t, fullest);
		if (!r->last)
			break;
	}
}

static void make_final(struct ranges *r, uint32_t f, uint32_t *n_ready, uint32_t *n_deferred)
{
	struct numbering_work *w = r->w;

	r->final[f] = 1;
	r->order[r->n_order++] = f;
	w->out->num_cc[f] = r->next[f] ? r->next[f] : 1;
	for (uint32_t i = w->out_sites.first[f]; i < w->out_sites.first[f + 1]; i++) {
		uint32_t site = w->out_sites.item[i], self, n;

		if (!numbering_site_has_value(w, site))
			continue;
		const uint32_t *t = numbering_closure(w, w->graph->sites[site].callee, &self, &n);

		while (n--) {
			uint32_t to = t[n], group = r->group[to];

			if (--r->pending[to] == 0)
				r->deferred[(*n_deferred)++] = to;
			if (--r->group_pending[group] == 0)
				r->ready[(*n_ready)++] = group;
		}
	}
}

static bool too_many_cuts(const struct numbering_work *w)
{
	return w->most_cuts && w->out->n_cut > w->most_cuts;
}

static void run_pass(struct ranges *r)
{
	const struct numbering_work *w = r->w;
	uint32_t n = w->graph->n_funcs, n_ready = 0, n_deferred = 0, ready = 0, deferred = 0;

	r->again = false;
	r->n_order = 0;
	memset(r->final, 0, n);
	memset(r->provisional, 0, n);
	memset(r->assigned, 0, (size_t)w->graph->n_sites + w->graph->n_funcs);
	memset(r->pending, 0, n * sizeof(*r->pending));
	memset(r->group_pending, 0, n * sizeof(*r->group_pending));
	for (uint32_t f = 0; f < n; f++) {
		uint32_t group = r->group[f];
		bool shared = r->members.first[group + 1] - r->members.first[group] > 1;

		if (r->last && shared)
			numbering_make_root(w, f);
		r->next[f] = w->out->root[f] ? 1 : 0;
		for (uint32_t i = r->in.first[f]; i < r->in.first[f + 1]; i++) {
			if (!numbering_is_entry(w, r->in.item[i]) &&
			    numbering_site_has_value(w, r->in.item[i])) {
				r->pending[f]++;
				r->group_pending[group]++;
			}
		}
	}
	for (uint32_t f = 0; f < n; f++) {
		if (!r->pending[f])
			r->deferred[n_deferred++] = f;
		if (r->group[f] == f && !r->group_pending[f])
			r->ready[n_ready++] = f;
	}
	while ((ready < n_ready || deferred < n_deferred) && !too_many_cuts(w)) {
		if (ready < n_ready) {
			uint32_t group = r->ready[ready++];
			const uint32_t *set = r->members.item + r->members.first[group];
			uint32_t n_set = r->members.first[group + 1] - r->members.first[group];

			assign_ranges(r, set, n_set);
			for (uint32_t k = 0; k < n_set; k++)
				if (!r->final[set[k]])
					make_final(r, set[k], &n_ready, &n_deferred);
		} else {
			uint32_t f = r->deferred[deferred++];

			if (r->final[f])
				continue;
			assign_ranges(r, &f, 1);
			make_final(r, f, &n_ready, &n_deferred);
		}
	}
}

static int run_passes(struct ranges *r)
{
	struct numbering_work *w = r->w;
	int err = 0;

	do {
		if (!numbering_take_steps(w, 2ull * w->graph->n_funcs + w->graph->n_sites +
						     4 * r->n_in)) {
			if (w->most_cuts)
				return -E2BIG;
			r->last = true;
		}
		err = numbering_close_roots(w);
		if (err)
			return err;
		run_pass(r);
		if (too_many_cuts(w))
			return -E2BIG;
	} while (r->again && !r->last);
	/*
	 * The last pass has made roots of callees. Id 0 is free in all functions that they reach.
	 */
	return numbering_close_roots(w);
}

int numbering_ranges(struct numbering_work *w)
{
	size_t n = (size_t)w->graph->n_funcs + 1;
	struct ranges r = {.w = w};
	int err = -ENOMEM;

	r.keep = w->limit >= 1ull << 40 ? 1ull << 20 : w->limit / 4 + 1;
	r.in.first = calloc(n + 2, sizeof(uint32_t));
	r.group = malloc(n * sizeof(uint32_t));
	r.pending = malloc(n * sizeof(uint32_t));
	r.group_pending = malloc(n * sizeof(uint32_t));
	r.next = malloc(n * sizeof(uint64_t));
	r.final = malloc(n);
	r.provisional = malloc(n);
	r.assigned = malloc((size_t)w->graph->n_sites + n);
	r.order = malloc(n * sizeof(uint32_t));
	r.ready = malloc(n * sizeof(uint32_t));
	r.deferred = malloc(n * sizeof(uint32_t));
	r.paths = malloc(n * sizeof(double));
	if (r.in.first && r.group && r.pending && r.group_pending && r.next && r.final &&
	    r.provisional && r.assigned && r.order && r.ready && r.deferred && r.paths)
		err = build_lists(&r);
	if (!err)
		err = run_passes(&r);
	numbering_adjacency_free(&r.in);
	numbering_adjacency_free(&r.members);
	free(r.group);
	free(r.pending);
	free(r.group_pending);
	free(r.next);
	free(r.final);
	free(r.provisional);
	free(r.assigned);
	free(r.order);
	free(r.ready);
	free(r.deferred);
	free(r.paths);
	free(r.candidates);
	return err;
}

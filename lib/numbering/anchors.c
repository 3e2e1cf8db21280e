/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Cuts sites so that all ids are small, for graphs in which few cuts are not enough.
 *
 * A cut makes its callee an anchor: a function in which contexts begin again (DeltaPath: Zeng,
 * Rhee, Zhang, Arora, Jiang, Liu: CGO 2014). Which function has too many contexts is seen at the
 * bottom of the graph, in what everything calls. But cuts are cheap further up, where calls are
 * rare. So anchors are chosen in rounds. Each round computes for each function
 *
 *   contexts   how many it has, without any limit
 *   share      the share of the contexts of all functions that overflow which passes through it
 *   score      share * log2(contexts) / price
 *
 * The functions with the best scores become anchors: all sites into them are cut. At last, sites
 * are taken back where there is room, those with the highest price first (take_back()).
 *
 * The price of a site is how often it can be executed at most, as a share of all calls: a program
 * that makes n calls enters a function at most n / work times, if work calls are made from its
 * entry to its exit. So sites in functions with much work are cheap, whatever the program does. The
 * price of a function is the sum over the sites into it. Estimates of how often a function is
 * entered are far less reliable in large programs: they depend on all paths to it, and on calls
 * through pointers.
 *
 * Sites are taken back in batches, each in one pass over the functions in topological order. The
 * state before the batch says how far contexts may grow in each function: by limit / most, where
 * `most` is the largest number of contexts in any function below. Then the functions below stay
 * within the limit as well, and a site that has been taken back stays so.
 *
 * A profile corrects the bound, which supposes that estimates within a function are right. But it
 * saw one run, and samples saw little of that. So a price is at least the share of the calls, or
 * samples, that the profile has.
 *
 * A profile with many calls of each site needs no anchors (hot_first). In a run, few sites make
 * nearly all calls. So all sites are cut, and then taken back as above. The hottest ones come one
 * by one, and the batches grow. Only cold sites remain cut. They may be many, but cost nothing as
 * long as the program does what it did in the profile. Estimates differ too little for this.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "numbering/steps.h"

#define BATCHES 64
#define BATCH_SHARE 8	   /* hot first: of the sites before the batch */
#define UNKNOWN_WORK 100   /* of the callees of pointers and back edges */
#define WORK_MAX 1e15	   /* more counts as this */
#define NO_WEIGHT 1e-3	   /* the worth of a site that is never executed, as far as is known */
#define NO_PRICE 1e-18	   /* the same without a profile */
#define CONTEXTS_MAX 1e200 /* more are counted as this */
#define CONTEXTS_MIN 16	   /* an anchor that saves less is not worth it */
#define GOOD_ENOUGH 0.8	   /* of the best score: also an anchor in this round */
#define ROUNDS 300

enum state {
	WAITING,
	TRIED, /* in this batch */
	KEPT,
	REFUSED
};

struct choice {
	double key;
	uint32_t site;
};

struct anchors {
	struct numbering_work *w;
	uint64_t limit; /* of contexts */
	bool hot_first;
	struct numbering_adjacency in;	  /* per function: sites whose T contains it */
	uint32_t *order;		  /* functions, callers first */
	uint8_t *state;			  /* of each site */
	uint64_t *count, *most;		  /* of each function: contexts, and the most below it */
	double *contexts, *share, *score; /* of each function; see place_anchors() */
	uint32_t *anchored, round; /* of each function: the last round that made it an anchor */
	double *worth;		   /* of each site: its price, or see find_profiled_worth() */
	struct choice *choices;	   /* sites to take back, the best first */
	struct choice *tried;	   /* of one function */
	uint32_t n_choices;
};

static int build_in_lists(struct anchors *a)
{
	const struct numbering_work *w = a->w;
	const struct numbering_graph *g = w->graph;
	uint32_t self, n;
	uint64_t total = 0;

	a->in.first = calloc((size_t)g->n_funcs + 2, sizeof(*a->in.first));
	if (!a->in.first)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_sites; i++) {
		if (!numbering_site_has_value(w, i))
			continue;
		const uint32_t *t = numbering_closure(w, g->sites[i].callee, &self, &n);

		total += n;
		while (n)
			a->in.first[t[--n] + 2]++;
	}
	a->in.item = malloc((total + 1) * sizeof(*a->in.item));
	a->tried = malloc((total + 1) * sizeof(*a->tried));
	if (total > UINT32_MAX || !a->in.item || !a->tried)
		return -ENOMEM;
	for (uint32_t f = 0; f < g->n_funcs; f++)
		a->in.first[f + 2] += a->in.first[f + 1];
	for (uint32_t i = 0; i < g->n_sites; i++) {
		if (!numbering_site_has_value(w, i))
			continue;
		const uint32_t *t = numbering_closure(w, g->sites[i].callee, &self, &n);

		while (n)
			a->in.item[a->in.first[t[--n] + 1]++] = i;
	}
	return 0;
}

/* Kahn's algorithm. */
static int order_functions(struct anchors *a)
{
	const struct numbering_work *w = a->w;
	const struct numbering_graph *g = w->graph;
	uint32_t *pending = malloc(((size_t)g->n_funcs + 1) * sizeof(*pending)), n_order = 0;

	if (!pending)
		return -ENOMEM;
	for (uint32_t f = 0; f < g->n_funcs; f++) {
		pending[f] = a->in.first[f + 1] - a->in.first[f];
		if (!pending[f])
			a->order[n_order++] = f;
	}
	for (uint32_t at = 0; at < n_order; at++) {
		uint32_t f = a->order[at];

		for (uint32_t i = w->out_sites.first[f]; i < w->out_sites.first[f + 1]; i++) {
			uint32_t site = w->out_sites.item[i], self, n;

			if (!numbering_site_has_value(w, site))
				continue;
			const uint32_t *t = numbering_closure(w, g->sites[site].callee, &self, &n);

			while (n)
				if (!--pending[t[--n]])
					a->order[n_order++] = t[n];
		}
	}
	free(pending);
	return 0;
}

/* Finds the price of each site. */
static int find_prices(struct anchors *a)
{
	const struct numbering_work *w = a->w;
	const struct numbering_graph *g = w->graph;
	uint32_t *position = malloc(((size_t)g->n_funcs + 1) * sizeof(*position));
	double *works = a->score;

	if (!position)
		return -ENOMEM;
	for (uint32_t at = 0; at < g->n_funcs; at++)
		position[a->order[at]] = at;
	for (uint32_t at = g->n_funcs; at-- > 0;) {
		uint32_t f = a->order[at], from = w->out_sites.first[f],
			 to = w->out_sites.first[f + 1];
		double work = 1;

		for (uint32_t i = from; i < to; i++) {
			const struct numbering_site *s = &g->sites[w->out_sites.item[i]];
			bool known = s->callee != NUMBERING_NO_CALLEE && position[s->callee] > at;

			work += s->freq * (1.0 / 1024) *
				(1 + (known ? works[s->callee] : UNKNOWN_WORK));
		}
		works[f] = work < WORK_MAX ? work : WORK_MAX;
		for (uint32_t i = from; i < to; i++)
			a->worth[w->out_sites.item[i]] =
				g->sites[w->out_sites.item[i]].freq * (1.0 / 1024) / works[f];
	}
	free(position);
	return 0;
}

static void raise_prices(struct anchors *a)
{
	const struct numbering_work *w = a->w;
	double all = numbering_sum_weights(w);

	for (uint32_t i = 0; all > 0 && i < w->graph->n_sites; i++)
		a->worth[i] = fmax(a->worth[i], w->weight[i] / all);
}

/* The binary logarithm, linear between powers of two: exact, so the same on every machine. */
static double logarithm(double x)
{
	int exponent;
	double mantissa = frexp(x, &exponent);

	return exponent + 2 * mantissa - 2;
}

static int compare_keys(const void *pa, const void *pb)
{
	const struct choice *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

/* Counts contexts without limit. Returns whether a function has too many. */
static bool count_contexts(struct anchors *a)
{
	const struct numbering_graph *g = a->w->graph;
	bool overflow = false;

	for (uint32_t at = 0; at < g->n_funcs; at++) {
		uint32_t f = a->order[at];
		double contexts = 1;

		for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++)
			if (a->state[a->in.item[i]] == KEPT)
				contexts += a->contexts[g->sites[a->in.item[i]].caller];
		a->contexts[f] = contexts < CONTEXTS_MAX ? contexts : CONTEXTS_MAX;
		overflow = overflow || contexts > (double)a->limit;
	}
	return overflow;
}

/*
 * Finds for each function which share of the contexts of functions that overflow passes through it,
 * as a sum over these functions.
 */
static void find_shares(struct anchors *a)
{
	const struct numbering_graph *g = a->w->graph;

	for (uint32_t f = 0; f < g->n_funcs; f++)
		a->share[f] = a->contexts[f] > (double)a->limit;
	for (uint32_t at = g->n_funcs; at-- > 0;) {
		uint32_t f = a->order[at];

		if (a->share[f] == 0)
			continue;
		for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++) {
			uint32_t caller = g->sites[a->in.item[i]].caller;

			if (a->state[a->in.item[i]] == KEPT)
				a->share[caller] +=
					a->share[f] * a->contexts[caller] / a->contexts[f];
		}
	}
}

/* What an anchor at f is worth: the bits of ids that it saves, over the calls that it slows. */
static double score_anchor(const struct anchors *a, uint32_t f)
{
	double price = NO_PRICE;

	if (a->share[f] == 0 || a->contexts[f] < CONTEXTS_MIN)
		return 0;
	for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++)
		if (a->state[a->in.item[i]] == KEPT)
			price += a->worth[a->in.item[i]];
	return a->share[f] * logarithm(a->contexts[f]) / price;
}

/* Does an anchor of this round call f? */
static bool below_new_anchor(const struct anchors *a, uint32_t f)
{
	const struct numbering_graph *g = a->w->graph;

	for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++)
		if (a->state[a->in.item[i]] == KEPT &&
		    a->anchored[g->sites[a->in.item[i]].caller] == a->round)
			return true;
	return false;
}

static void make_anchor(struct anchors *a, uint32_t f)
{
	for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++)
		if (a->state[a->in.item[i]] == KEPT)
			a->state[a->in.item[i]] = WAITING;
	a->anchored[f] = a->round;
}

/* Makes each function an anchor that overflows, callers first. */
static void finish_anchors(struct anchors *a)
{
	const struct numbering_graph *g = a->w->graph;

	for (uint32_t at = 0; at < g->n_funcs; at++) {
		uint32_t f = a->order[at];

		a->contexts[f] = 1;
		for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++)
			if (a->state[a->in.item[i]] == KEPT)
				a->contexts[f] += a->contexts[g->sites[a->in.item[i]].caller];
		if (a->contexts[f] > (double)a->limit) {
			make_anchor(a, f);
			a->contexts[f] = 1;
		}
	}
}

/* Makes the best functions anchors, round by round, until no function overflows. */
static void place_anchors(struct anchors *a)
{
	const struct numbering_graph *g = a->w->graph;

	for (a->round = 1; count_contexts(a); a->round++) {
		double best = 0;

		if (a->round > ROUNDS) {
			finish_anchors(a);
			return;
		}
		find_shares(a);
		for (uint32_t f = 0; f < g->n_funcs; f++) {
			a->score[f] = score_anchor(a, f);
			if (a->score[f] > best)
				best = a->score[f];
		}
		for (uint32_t at = 0; at < g->n_funcs; at++) {
			uint32_t f = a->order[at];

			if (a->score[f] >= best * GOOD_ENOUGH && !below_new_anchor(a, f))
				make_anchor(a, f);
		}
	}
}

/*
 * With a profile, finds what it saves to take back each site: its own pushes. And if a site into a
 * function is cut, and the function cannot be entered, it becomes a root. Then the hottest call of
 * it needs an addition. So all sites into it are worth a share of that call. Most of them come from
 * cold functions. What calls these is then cut instead, where it costs nothing.
 */
static void find_profiled_worth(struct anchors *a)
{
	const struct numbering_work *w = a->w;
	const struct numbering_graph *g = w->graph;
	double *hottest = a->score;

	memcpy(a->worth, w->weight, g->n_sites * sizeof(*a->worth));
	numbering_find_hottest(w, hottest);
	for (uint32_t i = 0; i < g->n_sites; i++) {
		uint32_t f = g->sites[i].callee;

		if (numbering_site_has_value(w, i) && !w->out->root[f] &&
		    !numbering_can_enter(w, f))
			a->worth[i] = fmax(a->worth[i], NUMBERING_ADDITION * hottest[f]);
	}
}

/* Orders the sites that are cut now, the hottest first. */
static void rank_cut_sites(struct anchors *a)
{
	a->n_choices = 0;
	for (uint32_t i = 0; i < a->w->graph->n_sites; i++)
		if (a->state[i] == WAITING && numbering_site_has_value(a->w, i))
			a->choices[a->n_choices++] = (struct choice){a->worth[i], i};
	qsort(a->choices, a->n_choices, sizeof(*a->choices), compare_keys);
}

static void find_most(struct anchors *a)
{
	const struct numbering_graph *g = a->w->graph;

	memcpy(a->most, a->count, g->n_funcs * sizeof(*a->most));
	for (uint32_t at = g->n_funcs; at-- > 0;) {
		uint32_t f = a->order[at];

		for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++) {
			uint32_t site = a->in.item[i], caller = g->sites[site].caller;

			if (a->state[site] == KEPT && a->most[caller] < a->most[f])
				a->most[caller] = a->most[f];
		}
	}
}

/* x * by / over, for by <= over. */
static uint64_t scale(uint64_t x, uint64_t by, uint64_t over)
{
	return (uint64_t)((unsigned __int128)x * by / over);
}

/* Takes back sites into f of this batch, as far as contexts fit. */
static void grow_function(struct anchors *a, uint32_t f)
{
	const struct numbering_graph *g = a->w->graph;
	uint64_t limit = scale(a->limit, a->count[f], a->most[f]), count = 1;
	const double least = a->hot_first ? NO_WEIGHT : NO_PRICE;
	uint32_t n = 0;

	for (uint32_t i = a->in.first[f]; i < a->in.first[f + 1]; i++) {
		uint32_t site = a->in.item[i];
		uint64_t more = a->count[g->sites[site].caller];

		if (a->state[site] == KEPT)
			count += more;
		else if (a->state[site] == TRIED)
			a->tried[n++] =
				(struct choice){(a->worth[site] + least) / (double)more, site};
	}
	if (n > 1)
		qsort(a->tried, n, sizeof(*a->tried), compare_keys);
	for (uint32_t k = 0; k < n; k++) {
		uint64_t more = a->count[g->sites[a->tried[k].site].caller];

		if (count + more <= limit)
			count += more;
		else
			a->state[a->tried[k].site] = REFUSED;
	}
	a->count[f] = count;
}

static uint32_t batch_end(const struct anchors *a, uint32_t batch, uint32_t from)
{
	if (a->hot_first)
		return a->n_choices - from > from / BATCH_SHARE ? from + from / BATCH_SHARE + 1
								: a->n_choices;
	return (uint64_t)a->n_choices * (batch + 1) / BATCHES;
}

static void take_back(struct anchors *a)
{
	const struct numbering_graph *g = a->w->graph;

	for (uint32_t f = 0; f < g->n_funcs; f++)
		a->count[f] = (uint64_t)a->contexts[f];
	for (uint32_t batch = 0, from = 0, to; from < a->n_choices; batch++, from = to) {
		to = batch_end(a, batch, from);
		find_most(a);
		for (uint32_t i = from; i < to; i++)
			a->state[a->choices[i].site] = TRIED;
		for (uint32_t at = 0; at < g->n_funcs; at++)
			grow_function(a, a->order[at]);
		for (uint32_t i = from; i < to; i++)
			if (a->state[a->choices[i].site] == TRIED)
				a->state[a->choices[i].site] = KEPT;
	}
}

static void cut_all(struct anchors *a)
{
	memset(a->state, WAITING, (size_t)a->w->graph->n_sites + 1);
	for (uint32_t f = 0; f < a->w->graph->n_funcs; f++)
		a->contexts[f] = 1;
}

int numbering_anchors(struct numbering_work *w, uint64_t limit, bool hot_first)
{
	size_t n = (size_t)w->graph->n_funcs + 1, s = (size_t)w->graph->n_sites + 1;
	struct anchors a = {.w = w, .limit = limit, .hot_first = hot_first};
	int err = -ENOMEM;

	a.order = malloc(n * sizeof(*a.order));
	a.state = calloc(s, 1);
	a.count = malloc(n * sizeof(*a.count));
	a.most = malloc(n * sizeof(*a.most));
	a.contexts = malloc(n * sizeof(*a.contexts));
	a.share = malloc(n * sizeof(*a.share));
	a.score = malloc(n * sizeof(*a.score));
	a.anchored = calloc(n, sizeof(*a.anchored));
	a.worth = malloc(s * sizeof(*a.worth));
	a.choices = malloc(s * sizeof(*a.choices));
	if (a.order && a.state && a.count && a.most && a.worth && a.choices && a.contexts &&
	    a.share && a.score && a.anchored)
		err = build_in_lists(&a);
	err = err ? err : order_functions(&a);
	err = err || hot_first ? err : find_prices(&a);
	if (!err) {
		memset(a.state, KEPT, s);
		if (hot_first) {
			cut_all(&a);
			find_profiled_worth(&a);
		} else {
			if (w->profiled)
				raise_prices(&a);
			place_anchors(&a);
		}
		rank_cut_sites(&a);
		take_back(&a);
		for (uint32_t i = 0; i < w->graph->n_sites; i++)
			if (a.state[i] == REFUSED)
				numbering_cut_site(w, i, false);
	}
	numbering_adjacency_free(&a.in);
	free(a.order);
	free(a.state);
	free(a.count);
	free(a.most);
	free(a.contexts);
	free(a.share);
	free(a.score);
	free(a.anchored);
	free(a.worth);
	free(a.choices);
	free(a.tried);
	return err;
}

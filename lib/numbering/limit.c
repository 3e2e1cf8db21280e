/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Chooses the limit of ids, and so how many sites are cut.
 *
 * Values beyond 2^31 are expensive (ranges.c). So cutting some cold sites pays, if they
 * are few and really cold. In tcc, Lua and SQLite, a limit of 2^38 to 2^40 contexts was best with
 * the compiler's estimates. If that takes many cuts, larger ids are better: small ones would cut a
 * quarter of Lua's sites. If even these take more than a few, choose_anchors() makes many cuts with
 * care.
 *
 * A profile says which sites are really cold. So with one, ids always stay below 2^31. There are
 * two ways to cut, and the one that would have cost the profiled run less is taken:
 *
 *   few cuts    numbering_ranges() alone, which looks for cuts that save much
 *   many cuts   anchors.c: of all but the hottest sites, if the profile has a sample
 *               or call for each site; else of what was rare and can only be rare
 *
 * The first wins if both are nearly equal. It cuts fewer sites, which is better where a run differs
 * from the profile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "numbering/steps.h"

#define SMALL_IDS (1ull << 31)
/* choose_anchors() tries limits of 2^30 contexts, 2^27 and so on, down to 2^15. */
#define MOST_BITS 30
#define LEAST_BITS 15
#define BITS_STEP 3
#define UNPLANNED 1.05 /* the cost, over that which was planned */
#define NEARLY 1e-4    /* see negligible() */
#define PASSES 8       /* of numbering_ranges(), with cuts: few cuts do not need more */
#define PASS_STEPS 8   /* of a pass, for each site, with room for the choice of cuts */

/* What is restored before the ranges are tried again. */
struct kept {
	uint8_t *kind, *root, *entered;
	uint64_t steps;
	double *hottest; /* for cost() */
	bool hot_first;	 /* see numbering_anchors() */
};

static void restore(struct numbering_work *w, const struct kept *k)
{
	size_t f = (size_t)w->graph->n_funcs + 1, s = (size_t)w->graph->n_sites + 1;

	memcpy(w->out->kind, k->kind, s);
	memcpy(w->out->root, k->root, f);
	memcpy(w->out->entered, k->entered, f);
	memset(w->out->start, 0, f * sizeof(*w->out->start));
	memset(w->out->cut, 0, s);
	w->out->n_cut = 0;
	w->steps = k->steps;
}

/*
 * What the cuts cost, in pushes: one for each execution, and with a profile also an addition at the
 * hottest call of each function that has become a root. Estimates are too inexact for the latter.
 */
static double cost(const struct numbering_work *w, const struct kept *k)
{
	double sum = 0;

	for (uint32_t i = 0; i < w->graph->n_sites; i++)
		sum += w->out->cut[i] ? w->weight[i] : 0;
	if (!w->profiled)
		return sum;
	numbering_find_hottest(w, k->hottest);
	for (uint32_t f = 0; f < w->graph->n_funcs; f++)
		if (w->out->root[f] && !k->root[f])
			sum += NUMBERING_ADDITION * k->hottest[f];
	return sum;
}

/* A share of all executions that is as good as none. */
static double negligible(const struct numbering_work *w)
{
	return numbering_sum_weights(w) * NEARLY;
}

static int try_anchors(struct numbering_work *w, const struct kept *k, uint64_t contexts,
		       double *planned)
{
	int err;

	restore(w, k);
	err = numbering_anchors(w, contexts, k->hot_first);
	*planned = cost(w, k);
	return err ? err : numbering_ranges(w);
}

/*
 * Cuts many sites, so that all ids are small. Tail calls leave gaps between ranges, so a function
 * with few contexts may need far more ids. If numbering_ranges() must make further cuts for that,
 * they are at hot calls. So it is tried with fewer contexts.
 */
static int choose_anchors(struct numbering_work *w, const struct kept *k, uint64_t most)
{
	const double slack = w->profiled ? negligible(w) : 0;
	double best = -1, found, planned;
	uint64_t best_contexts = 0, contexts;

	w->most_cuts = 0;
	for (contexts = most; contexts == most || contexts >= 1 << LEAST_BITS;
	     contexts >>= BITS_STEP) {
		int err = try_anchors(w, k, contexts, &planned);

		if (err)
			return err;
		found = cost(w, k);
		if (best >= 0 && found >= best)
			return try_anchors(w, k, best_contexts, &planned);
		best = found;
		best_contexts = contexts;
		if (found <= planned * UNPLANNED + slack)
			return 0;
	}
	return 0;
}

static int choose_by_estimates(struct numbering_work *w, const struct kept *k)
{
	const uint64_t limit = w->limit;
	uint32_t n = w->graph->n_sites;
	int err;

	w->limit = 1ull << 39;
	w->most_cuts = n / 50 + 16;
	w->steps = k->steps;
	err = numbering_ranges(w);
	if (err == -E2BIG) {
		restore(w, k);
		w->limit = limit;
		w->most_cuts = n / 200 + 16;
		w->steps += (uint64_t)PASSES * PASS_STEPS * n;
		err = numbering_ranges(w);
	}
	if (err == -E2BIG) {
		w->limit = SMALL_IDS;
		err = choose_anchors(w, k, 1ull << MOST_BITS);
	}
	return err;
}

static int choose_by_profile(struct numbering_work *w, const struct kept *k)
{
	const uint32_t most_cuts = w->graph->n_sites / 10 + 16;
	double few = -1;
	int err;

	if (w->prefers_small)
		w->limit = SMALL_IDS;
	w->most_cuts = most_cuts;
	w->steps = k->steps;
	err = numbering_ranges(w);
	if (err && err != -E2BIG)
		return err;
	if (!err) {
		few = cost(w, k);
		if (few <= negligible(w))
			return 0;
	}
	err = choose_anchors(w, k, w->limit);
	if (err || few < 0 || few > cost(w, k) + negligible(w))
		return err;
	restore(w, k);
	w->most_cuts = most_cuts;
	return numbering_ranges(w);
}

int numbering_limit(struct numbering_work *w)
{
	struct numbering *out = w->out;
	size_t f = (size_t)w->graph->n_funcs + 1, s = (size_t)w->graph->n_sites + 1;
	uint8_t *memory;
	double *hottest;
	int err = -ENOMEM;

	if (!w->prefers_small && !w->profiled)
		return numbering_ranges(w);
	memory = malloc(s + 2 * f);
	hottest = malloc(f * sizeof(*hottest));
	if (memory && hottest) {
		const struct kept kept = {
			memory,		memory + s,
			memory + s + f, w->steps / 8,
			hottest,	w->profiled && numbering_sum_weights(w) >= (double)s};

		memcpy(kept.kind, out->kind, s);
		memcpy(kept.root, out->root, f);
		memcpy(kept.entered, out->entered, f);
		err = w->profiled ? choose_by_profile(w, &kept) : choose_by_estimates(w, &kept);
	}
	free(memory);
	free(hottest);
	return err;
}

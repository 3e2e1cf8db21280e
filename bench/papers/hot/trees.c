/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * trees EXACT
 *
 * Describes the calling context tree of a recording with exact counts, one "name value" a line:
 *
 *   functions, sites, contexts, calls      Table I of D'Elia, Demetrescu and Finocchi
 *   nodes                                  contexts, and callers that were not counted themselves
 *   skew_PERCENT                           Figure 1: share of the calls that are in this share of
 *                                          the contexts, the hottest ones, in percent
 *   hcct_PHI                               Table II: nodes of the tree of hot contexts and callers
 *   overlap_PHI                            Figure 7(a): their share of all calls, in percent
 *   tau_PHI                                Figure 7(b): least tau with which hot edges are covered
 *
 * trees EXACT APPROXIMATE PHI
 *
 * Compares it with another recording of the same program, for Figures 4 and 8 to 12:
 *
 *   kept                                   nodes that the other recording has, with callers
 *   nodes, cold, hot, false_positives, false_negatives, unknown
 *   max_uncovered, mean_uncovered, max_error, mean_error        percent
 *   cover_RATIO                            hot edge coverage, in percent; tau is the value of
 *                                          tau_PHI divided by RATIO
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash_table.h"
#include "base/text.h"
#include "diff/accuracy.h"
#include "diff/diff.h"
#include "hot/parameters.h"

static const double phis[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7};
static const double skews[] = {1, 2, 5, 10, 20, 30, 50, 75};
static const double ratios[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static void die(const char *why)
{
	fprintf(stderr, "trees: %s\n", why);
	exit(1);
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("cannot read the recordings: out of memory");
	return p;
}

static struct profile *load(const char *path)
{
	const struct profile_options o = {.tree = true};
	struct profile *p;
	struct error why;

	if (profile_load(path, &o, &p, &why))
		die(why.text);
	return p;
}

/* ---- one tree -------------------------------------------------------------------- */

/* A call of the program: where it is, and in which function. */
struct site {
	uint64_t call;
	uint32_t module, func;
};

static int compare_sites(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct site));
}

static size_t count_distinct(struct site *sites, size_t n)
{
	size_t distinct = 0;

	qsort(sites, n, sizeof(*sites), compare_sites);
	for (size_t i = 0; i < n; i++)
		distinct += !i || compare_sites(&sites[i - 1], &sites[i]);
	return distinct;
}

static void print_sizes(const struct cct *t, uint64_t calls)
{
	struct site *functions = allocate(t->n, sizeof(*functions)),
		    *sites = allocate(t->n, sizeof(*sites));
	size_t contexts = 0;

	for (size_t i = 1; i < t->n; i++) {
		const struct cct_key *key = t->nodes[i].key,
				     *caller = t->nodes[t->nodes[i].parent].key;

		functions[i - 1] = (struct site){0, key->module, key->func};
		sites[i - 1] = (struct site){key->call, caller ? caller->module : UINT32_MAX,
					     caller ? caller->func : UINT32_MAX};
		contexts += t->nodes[i].samples != 0;
	}
	printf("functions %zu\n", t->n > 1 ? count_distinct(functions, t->n - 1) : 0);
	printf("sites %zu\ncontexts %zu\ncalls %llu\nnodes %zu\n",
	       t->n > 1 ? count_distinct(sites, t->n - 1) : 0, contexts, (unsigned long long)calls,
	       t->n - 1);
	free(functions);
	free(sites);
}

static int compare_counts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : -(x > y);
}

static void print_skew(const struct cct *t, uint64_t calls)
{
	uint64_t *counts = allocate(t->n, sizeof(*counts)), sum = 0;
	size_t n = 0, at = 0;

	for (size_t i = 1; i < t->n; i++)
		if (t->nodes[i].samples)
			counts[n++] = t->nodes[i].samples;
	qsort(counts, n, sizeof(*counts), compare_counts);
	for (size_t k = 0; k < COUNT_OF(skews); k++) {
		for (; at < n && (double)(at + 1) <= n * skews[k] / 100; at++)
			sum += counts[at];
		printf("skew_%g %.3f\n", skews[k], text_percent(sum, calls));
	}
	free(counts);
}

/* Adds the callers of all nodes that are kept, and returns how many nodes that makes. Parents come
 * before their children. */
static size_t add_callers(const struct cct *t, uint8_t *kept)
{
	size_t n = 0;

	for (size_t i = t->n; i-- > 1;) {
		kept[t->nodes[i].parent] |= kept[i];
		n += kept[i];
	}
	return n;
}

static void print_hot_tree(const struct cct *t, uint64_t calls, double phi, uint64_t most)
{
	uint8_t *kept = allocate(t->n, sizeof(*kept));
	uint64_t least = hot_threshold(phi, calls), covered = 0;
	size_t nodes;

	for (size_t i = 1; i < t->n; i++)
		kept[i] = t->nodes[i].samples >= least;
	nodes = add_callers(t, kept);
	for (size_t i = 1; i < t->n; i++)
		covered += kept[i] ? t->nodes[i].samples : 0;
	printf("hcct_%g %zu\noverlap_%g %.3f\n", phi, nodes, phi, text_percent(covered, calls));
	printf("tau_%g %.3g\n", phi, fmin(1, (double)least / most));
	free(kept);
}

static uint64_t most_calls(const struct cct *t)
{
	uint64_t most = 1;

	for (size_t i = 1; i < t->n; i++)
		if (t->nodes[i].samples > most)
			most = t->nodes[i].samples;
	return most;
}

static void describe_tree(const struct cct *t)
{
	uint64_t calls = 0, most = most_calls(t);

	for (size_t i = 1; i < t->n; i++)
		calls += t->nodes[i].samples;
	print_sizes(t, calls);
	print_skew(t, calls);
	for (size_t k = 0; k < COUNT_OF(phis); k++)
		print_hot_tree(t, calls, phis[k], most);
}

/* ---- two trees -------------------------------------------------------------------- */

static size_t count_kept(const struct cct *t)
{
	uint8_t *kept = allocate(t->n, sizeof(*kept));
	size_t count;

	for (size_t i = 1; i < t->n; i++)
		kept[i] = t->nodes[i].self != 0;
	count = add_callers(t, kept);
	free(kept);
	return count;
}

/* Prints how many of the edges with at least tau times the largest count are in the approximate
 * tree: they are hot there, or callers of what is. */
static void print_cover(const struct diff *d, double phi, const struct accuracy *a)
{
	const struct cct *t = &d->tree;
	uint8_t *kept = allocate(t->n, sizeof(*kept));
	uint64_t most = 1, exact_least = hot_threshold(phi, a->exact_n),
		 least = hot_threshold(phi, a->approximate_n);

	for (size_t i = 1; i < t->n; i++) {
		kept[i] = t->nodes[i].self >= least;
		most = d->was[i].self > most ? d->was[i].self : most;
	}
	add_callers(t, kept);
	for (size_t k = 0; k < COUNT_OF(ratios); k++) {
		double from = exact_least / ratios[k];
		size_t hot = 0, covered = 0;

		for (size_t i = 1; i < t->n; i++) {
			if (d->was[i].self && d->was[i].self >= from) {
				hot++;
				covered += kept[i];
			}
		}
		if (from <= most)
			printf("cover_%g %.3f\n", ratios[k], text_percent(covered, hot));
	}
	free(kept);
}

static void compare_trees(const struct diff *d, double phi)
{
	struct accuracy a;

	if (accuracy_of_diff(d, phi, &a))
		die("cannot compare: out of memory");
	printf("kept %zu\n", count_kept(&d->tree));
	printf("nodes %zu\ncold %zu\nhot %zu\n", a.nodes, a.nodes - a.approximate_hot,
	       a.approximate_hot - a.false_positives);
	printf("false_positives %zu\nfalse_negatives %zu\nunknown %zu\n", a.false_positives,
	       a.false_negatives, a.unknown);
	printf("max_uncovered %.4f\nmean_uncovered %.6f\nmax_error %.4f\nmean_error %.4f\n",
	       a.max_uncovered, a.mean_uncovered, a.max_error, a.mean_error);
	print_cover(d, phi, &a);
}

int main(int argc, char **argv)
{
	struct profile *exact, *approximate;
	struct diff d;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: trees EXACT [APPROXIMATE PHI]\n");
		return 2;
	}
	exact = load(argv[1]);
	if (argc == 2) {
		describe_tree(&exact->tree);
	} else {
		approximate = load(argv[2]);
		if (diff_new(exact, approximate, DIFF_BY_CONTEXTS, &d))
			die("cannot compare: out of memory");
		if (d.by_names)
			die("cannot compare: these are recordings of different builds");
		compare_trees(&d, strtod(argv[3], NULL));
		diff_free(&d);
		profile_free(approximate);
	}
	profile_free(exact);
	return 0;
}

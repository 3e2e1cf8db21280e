/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Computes the metrics in one backward pass over the nodes, which finds the approximate tree, and
 * one forward pass. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/text.h"
#include "diff/accuracy.h"
#include "hot/parameters.h"
#include "tree/hot_tree.h"

const double accuracy_taus[ACCURACY_TAUS] = {0.5, 0.1, 0.01, 0.001};

static void add_up(const struct accuracy_node *nodes, size_t n, struct accuracy *a, uint64_t *most)
{
	uint64_t exact = 0, approximate = 0;

	*most = 0;
	for (size_t i = 1; i < n; i++) {
		exact += nodes[i].exact;
		approximate += nodes[i].approximate;
		if (nodes[i].exact > *most)
			*most = nodes[i].exact;
	}
	a->exact_n = a->exact_n ? a->exact_n : exact;
	a->approximate_n = a->approximate_n ? a->approximate_n : approximate;
}

static void measure_cover(const struct accuracy_node *nodes, const uint8_t *kept, size_t n,
			  uint64_t most, struct accuracy *a)
{
	for (int k = 0; k < ACCURACY_TAUS; k++) {
		size_t hot = 0, covered = 0;

		for (size_t i = 1; i < n; i++) {
			if (!nodes[i].exact || nodes[i].exact < accuracy_taus[k] * most)
				continue;
			hot++;
			covered += kept[i];
		}
		a->cover[k] = text_percent(covered, hot);
	}
}

static void measure_uncovered(const struct accuracy_node *nodes, const uint8_t *kept, size_t n,
			      uint64_t most, struct accuracy *a)
{
	for (size_t i = 1; i < n; i++) {
		double hotness = text_percent(nodes[i].exact, most);

		if (kept[i] || !nodes[i].exact)
			continue;
		a->uncovered++;
		a->mean_uncovered += hotness;
		a->max_uncovered = fmax(a->max_uncovered, hotness);
	}
	if (a->uncovered)
		a->mean_uncovered /= a->uncovered;
}

static void measure_error(const struct accuracy_node *node, struct accuracy *a)
{
	double scaled = (double)node->approximate * a->exact_n / a->approximate_n, error;

	if (!node->exact) {
		a->unknown++;
		return;
	}
	error = fabs(scaled - node->exact) / node->exact * 100;
	a->mean_error += error;
	a->max_error = fmax(a->max_error, error);
}

int accuracy_measure(const struct accuracy_node *nodes, size_t n, double phi, uint64_t exact_n,
		     uint64_t approximate_n, struct accuracy *a)
{
	uint8_t *kept = calloc(n, sizeof(*kept));
	uint64_t most, exact_least, least, overlap = 0;

	if (!kept)
		return -ENOMEM;
	*a = (struct accuracy){.exact_n = exact_n, .approximate_n = approximate_n};
	add_up(nodes, n, a, &most);
	exact_least = hot_threshold(phi, a->exact_n);
	least = hot_threshold(phi, a->approximate_n);
	for (size_t i = n; i-- > 1;) {
		bool hot = nodes[i].approximate >= least, exact = nodes[i].exact >= exact_least;

		a->approximate_hot += hot;
		a->exact_hot += exact;
		a->false_positives += hot && !exact;
		a->false_negatives += exact && !hot;
		if (hot)
			measure_error(&nodes[i], a);
		kept[i] |= hot;
		kept[nodes[i].parent] |= kept[i];
		a->nodes += kept[i];
		overlap += kept[i] ? nodes[i].exact : 0;
	}
	a->overlap = text_percent(overlap, a->exact_n);
	if (a->approximate_hot > a->unknown)
		a->mean_error /= a->approximate_hot - a->unknown;
	measure_cover(nodes, kept, n, most, a);
	measure_uncovered(nodes, kept, n, most, a);
	free(kept);
	return 0;
}

int accuracy_of_diff(const struct diff *d, double phi, struct accuracy *a)
{
	const struct cct *t = &d->tree;
	struct accuracy_node *nodes = calloc(t->n, sizeof(*nodes));
	uint32_t cold = symbol_table_intern(d->names, HOT_TREE_COLD);
	uint64_t n[2] = {0};
	int r = -ENOMEM;

	for (size_t i = 1; nodes && i < t->n; i++) {
		nodes[i].parent = t->nodes[i].parent;
		n[0] += d->was[i].self;
		n[1] += t->nodes[i].self;
		if (t->nodes[i].key->name == cold)
			continue;
		nodes[i].exact = d->was[i].self;
		nodes[i].approximate = t->nodes[i].self;
	}
	if (nodes && cold != UINT32_MAX)
		r = accuracy_measure(nodes, t->n, phi, n[0], n[1], a);
	free(nodes);
	return r;
}

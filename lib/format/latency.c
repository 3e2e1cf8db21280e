/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints how long executions of functions took (pcce-record --latency): for each function a line
 * and a histogram, and for each of its contexts a line, the longest time first:
 *
 *     count     total      mean       p50       p90       p99     p99.9       max  function
 *      1000   1.21 s    1.21 ms   1.10 ms   1.90 ms   2.31 ms   2.44 ms   2.45 ms  handle
 *       700   1.01 s    1.44 ms   ...                                              main → handle
 *
 * Counts, totals, and the longest durations are exact. A percentile is the end of its
 * bucket, which is at most a sixteenth above.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/duration.h>
#include "base/array.h"
#include "base/text.h"
#include "format/format.h"
#include "tree/cct.h"

#define BAR 40 /* characters */

struct durations {
	uint32_t node; /* of the merged tree; UINT32_MAX: of all contexts */
	uint32_t name; /* of the function */
	char *text;    /* the context */
	uint64_t entries, ended, sum, min, max, no_end, left;
	uint64_t count[PCCE_DURATION_BUCKETS];
};

struct latencies {
	const struct profile *p;
	struct cct tree;
	uint32_t *merged;	    /* by node of the profile's tree */
	struct durations **of_node; /* by node of the merged tree */
	struct durations **functions;
	size_t n_functions;
	struct durations **list; /* of contexts */
	size_t n;
};

/* ---- collecting ------------------------------------------------------------------- */

/* The durations of a node, or of a function in all contexts. NULL: no memory. */
static struct durations *durations_of(struct latencies *l, uint32_t node, uint32_t name)
{
	struct durations *d;

	if (node != UINT32_MAX && l->of_node[node])
		return l->of_node[node];
	/* There are few functions. */
	for (size_t i = 0; i < l->n_functions && node == UINT32_MAX; i++)
		if (l->functions[i]->name == name)
			return l->functions[i];
	if (array_grow(&l->list, l->n, sizeof(struct durations *)) ||
	    array_grow(&l->functions, l->n_functions, sizeof(struct durations *)))
		return NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->node = node;
	d->name = name;
	d->min = UINT64_MAX;
	if (node == UINT32_MAX)
		return l->functions[l->n_functions++] = d;
	l->of_node[node] = d;
	return l->list[l->n++] = d;
}

static void add_durations(struct durations *to, uint64_t entries, const struct pcce_durations *d)
{
	const struct pcce_duration_count *of = (const struct pcce_duration_count *)(d + 1);

	to->entries += entries;
	to->ended += d->ended;
	to->sum += d->sum;
	to->no_end += d->no_end;
	to->left += d->left;
	for (uint32_t i = 0; i < d->n; i++)
		to->count[of[i].bucket] += of[i].count;
	if (!d->ended)
		return;
	to->min = d->min < to->min ? d->min : to->min;
	to->max = d->max > to->max ? d->max : to->max;
}

static int collect_durations(struct latencies *l)
{
	int r = cct_merge_map(&l->p->tree, CCT_MERGE_NAMES, &l->tree, &l->merged);

	l->of_node = r ? NULL : calloc(l->tree.n + 1, sizeof(struct durations *));
	if (!l->of_node)
		return -ENOMEM;
	for (size_t i = 0; i < profile_samples(l->p) && !r; i++) {
		const struct pcce_durations *d = profile_sample_durations(l->p, i);
		struct profile_sample s;
		struct durations *to[2];
		uint32_t node, name;

		if (!d)
			continue;
		s = profile_sample(l->p, i);
		node = l->merged[s.node];
		name = l->tree.nodes[node].key->name;
		to[0] = durations_of(l, UINT32_MAX, name);
		to[1] = durations_of(l, node, name);
		if (!to[0] || !to[1])
			return -ENOMEM;
		for (int k = 0; k < 2; k++)
			add_durations(to[k], s.samples, d);
	}
	return r;
}

/* ---- numbers ---------------------------------------------------------------------- */

/* The duration that this part of all durations does not exceed: the end of a bucket. */
static uint64_t percentile(const struct durations *d, double part)
{
	uint64_t rank = (uint64_t)(part * (double)d->ended), seen = 0, end;

	for (uint32_t i = 0; d->ended && i < PCCE_DURATION_BUCKETS; i++) {
		seen += d->count[i];
		if (seen <= rank && seen < d->ended)
			continue;
		end = i + 1 < PCCE_DURATION_BUCKETS ? pcce_duration_least(i + 1) - 1 : d->max;
		end = end < d->max ? end : d->max;
		return end > d->min ? end : d->min;
	}
	return d->max;
}

/* A duration in ten columns. */
static void print_duration(uint64_t ns, FILE *out)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = {{1e9, "s "}, {1e6, "ms"}, {1e3, "µs"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = (double)ns / units[i].ns;

		if (value < 1)
			continue;
		fprintf(out, " %*.*f %s", 6,
			value < 10    ? 2
			: value < 100 ? 1
				      : 0,
			value, units[i].unit);
		return;
	}
	fprintf(out, " %6llu ns", (unsigned long long)ns);
}

static void print_row(const struct durations *d, const char *text, FILE *out)
{
	static const double parts[] = {0.5, 0.9, 0.99, 0.999};

	fprintf(out, "%10llu", (unsigned long long)d->ended);
	print_duration(d->sum, out);
	print_duration(d->ended ? d->sum / d->ended : 0, out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		print_duration(percentile(d, parts[i]), out);
	print_duration(d->max, out);
	fprintf(out, "  %s\n", text);
}

/* ---- histograms ------------------------------------------------------------------- */

static void print_bar(double share, FILE *out)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned int eighths = (unsigned int)(share * BAR * 8 + 0.5);

	for (unsigned int i = 0; i < eighths / 8; i++)
		fputs("█", out);
	fputs(parts[eighths % 8], out);
}

/* A line for each power of two. */
static void print_histogram(const struct durations *d, FILE *out)
{
	uint64_t sums[PCCE_DURATION_GROUPS + PCCE_DURATION_LOG] = {0}, most = 0;
	uint32_t first = UINT32_MAX, last = 0;

	for (uint32_t i = 0; i < PCCE_DURATION_BUCKETS; i++) {
		uint64_t least = pcce_duration_least(i);
		uint32_t log = least ? 64 - (uint32_t)__builtin_clzll(least) : 0;

		if (!d->count[i])
			continue;
		sums[log] += d->count[i];
		most = sums[log] > most ? sums[log] : most;
		first = first == UINT32_MAX ? log : first;
		last = log;
	}
	for (uint32_t i = first; most && i <= last; i++) {
		fputs("          ", out);
		print_duration(i ? 1ULL << (i - 1) : 0, out);
		fputs(" –", out);
		print_duration(1ULL << i, out);
		fprintf(out, " %10llu  ", (unsigned long long)sums[i]);
		print_bar((double)sums[i] / (double)most, out);
		fputc('\n', out);
	}
}

/* ---- output ----------------------------------------------------------------------- */

static int longest_total_first(const void *a, const void *b)
{
	const struct durations *x = *(struct durations *const *)a,
			       *y = *(struct durations *const *)b;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return strcmp(x->text ? x->text : "", y->text ? y->text : "");
}

static void print_exceptions(const struct durations *d, const char *name, FILE *out)
{
	uint64_t known = d->ended + d->no_end + d->left;
	uint64_t running = d->entries > known ? d->entries - known : 0;

	if (d->no_end)
		fprintf(out,
			"%10llu more executions of %s have no durations: libraries, or code that "
			"pcce did not compile, called them\n",
			(unsigned long long)d->no_end, name);
	if (d->left)
		fprintf(out,
			"%10llu more were left by a jump or an exception, or their thread changed "
			"to another stack\n",
			(unsigned long long)d->left);
	if (running)
		fprintf(out, "%10llu more had not ended when their thread or process did\n",
			(unsigned long long)running);
}

static void print_contexts(const struct latencies *l, const struct durations *all,
			   const struct format_options *o, FILE *out)
{
	uint64_t left_out = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct durations *d = l->list[i];

		if (d->name != all->name || !d->ended)
			continue;
		if (text_percent(d->sum, all->sum) < o->min_percent)
			left_out++;
		else
			print_row(d, d->text, out);
	}
	if (left_out)
		fprintf(out, "%10s[%llu more contexts, each below %g%% of the time]\n", "",
			(unsigned long long)left_out, o->min_percent);
}

static void print_headline(FILE *out)
{
	fprintf(out, "%10s%10s%10s%10s%10s%10s%10s%10s  %s\n", "count", "total", "mean", "p50",
		"p90", "p99", "p99.9", "max", "function, and below its contexts");
}

static void print_functions(const struct latencies *l, const struct format_options *o, FILE *out)
{
	if (!l->n_functions)
		print_headline(out);
	for (size_t i = 0; i < l->n_functions; i++) {
		const struct durations *d = l->functions[i];
		char buffer[1024];
		const char *name;

		name = text_clean(symbol_table_string(l->p->names, d->name), buffer,
				  sizeof(buffer));
		if (i)
			putc('\n', out);
		print_headline(out);
		print_row(d, name, out);
		print_contexts(l, d, o, out);
		print_exceptions(d, name, out);
		print_histogram(d, out);
	}
}

int format_latency(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct latencies l = {.p = p};
	int r = collect_durations(&l);

	for (size_t i = 0; i < l.n && !r; i++) {
		l.list[i]->text = format_chain(p, &l.tree, l.list[i]->node, o->max_depth);
		r = l.list[i]->text ? 0 : -ENOMEM;
	}
	if (l.n)
		qsort(l.list, l.n, sizeof(struct durations *), longest_total_first);
	if (l.n_functions)
		qsort(l.functions, l.n_functions, sizeof(struct durations *), longest_total_first);
	if (!r && !l.n)
		format_remark(o, "no selected calls were timed; record with --latency=FUNCTION");
	if (!r)
		print_functions(&l, o, out);
	cct_free(&l.tree);
	free(l.merged);
	free(l.of_node);
	for (size_t i = 0; i < l.n; i++) {
		free(l.list[i]->text);
		free(l.list[i]);
	}
	for (size_t i = 0; i < l.n_functions; i++)
		free(l.functions[i]);
	free(l.functions);
	free(l.list);
	return r;
}

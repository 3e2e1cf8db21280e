/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Measures how accurate a calling context tree is: the command line of pcce-compare. lib/diff does
 * the work. pcce-diff is for changes, and for what chance may explain. Here one tree is the truth.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/message.h"
#include "base/progress.h"
#include "diff/accuracy.h"
#include "diff/diff.h"
#include "diff/tree_file.h"
#include "hot/parameters.h"

const char *argp_program_version = "pcce-compare " PCCE_VERSION;

enum { OPT_PHI = 256 };

struct arguments {
	const char *inputs[2];
	int n;
	double phi;
};

static const struct argp_option options[] = {
	{"phi", OPT_PHI, "PHI", 0,
	 "Contexts are hot if their share is at least PHI (default: 0.0001)", 0},
	{0},
};

static error_t parse_compare_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct hot_parameters p;
	struct error why;

	switch (key) {
	case OPT_PHI:
		if (hot_parameters_parse(arg, &p, &why))
			message_usage(state, "cannot use --phi: %s", why.text);
		else if (strchr(arg, ','))
			message_usage(state, "cannot use --phi=%s: it must be one number", arg);
		a->phi = p.phi;
		return 0;
	case ARGP_KEY_ARG:
		if (a->n == 2)
			message_usage(state, "cannot compare more than two trees");
		a->inputs[a->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->n < 2)
			message_usage(state, "cannot compare: two trees are needed; name the exact "
					     "one and the approximate one");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_compare_option,
	.args_doc = "EXACT APPROXIMATE",
	.doc = "Measure how well a calling context tree represents an exact one."
	       "\vBoth are recordings of pcce-record, or both are .tree files of libhcct.",
};

static bool is_tree_file(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".tree");
}

static void print_accuracy(const struct accuracy *a, double phi)
{
	printf("phi: %g\nexact_n: %llu\napproximate_n: %llu\n", phi, (unsigned long long)a->exact_n,
	       (unsigned long long)a->approximate_n);
	printf("exact_hot: %zu\napproximate_hot: %zu\nnodes: %zu\n", a->exact_hot,
	       a->approximate_hot, a->nodes);
	printf("overlap: %.4f%%\n", a->overlap);
	for (int i = 0; i < ACCURACY_TAUS; i++)
		printf("hot_edge_coverage_%g: %.4f%%\n", accuracy_taus[i], a->cover[i]);
	printf("uncovered: %zu\nmax_uncovered: %.4f%%\nmean_uncovered: %.4f%%\n", a->uncovered,
	       a->max_uncovered, a->mean_uncovered);
	printf("false_positives: %zu\nfalse_negatives: %zu\n", a->false_positives,
	       a->false_negatives);
	printf("max_error: %.4f%%\nmean_error: %.4f%%\nunknown: %zu\n", a->max_error, a->mean_error,
	       a->unknown);
}

/* Prints what was measured; r: 0 or -ENOMEM. Returns the exit status. */
static int print_measured(int r, const struct accuracy *a, double phi)
{
	if (r) {
		message("pcce-compare", "cannot compare: out of memory");
		return 1;
	}
	print_accuracy(a, phi);
	if (fflush(stdout) || ferror(stdout)) {
		message("pcce-compare", "cannot write standard output: %s", strerror(errno));
		return 1;
	}
	return 0;
}

/* Measures a tree of both files, whose `samples` are the approximate counts. */
static int measure_tree(const struct cct *t, double phi, const uint64_t n[2], struct accuracy *a)
{
	struct accuracy_node *nodes = calloc(t->n, sizeof(*nodes));
	int r;

	if (!nodes)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		nodes[i] = (struct accuracy_node){t->nodes[i].parent, t->nodes[i].self,
						  t->nodes[i].samples};
	r = accuracy_measure(nodes, t->n, phi, n[0], n[1], a);
	free(nodes);
	return r;
}

static int compare_tree_files(const struct arguments *a)
{
	uint64_t n[2] = {0};
	struct accuracy found;
	struct error why;
	struct cct t;
	int status = 1;

	if (cct_init(&t)) {
		message("pcce-compare", "cannot compare: out of memory");
		return 1;
	}
	for (int i = 0; i < 2; i++) {
		FILE *in = fopen(a->inputs[i], "r");
		int r;

		if (!in) {
			message("pcce-compare", "cannot read %s: %s", a->inputs[i],
				strerror(errno));
			goto out;
		}
		r = tree_file_read(in, &t, i, &n[i], &why);
		fclose(in);
		if (r) {
			message("pcce-compare", "cannot read %s: it %s", a->inputs[i], why.text);
			goto out;
		}
	}
	status = print_measured(measure_tree(&t, a->phi, n, &found), &found, a->phi);
out:
	cct_free(&t);
	return status;
}

static int compare_profiles(const struct arguments *a)
{
	const struct profile_options o = {.tree = true, .inlining = true};
	struct profile *p[2] = {NULL, NULL};
	struct accuracy found;
	struct error why;
	struct diff d;
	int status = 1;

	progress_enable("pcce-compare");
	for (int i = 0; i < 2; i++) {
		if (profile_load(a->inputs[i], &o, &p[i], &why)) {
			message("pcce-compare", "%s", why.text);
			goto out;
		}
	}
	if (diff_new(p[0], p[1], DIFF_BY_CONTEXTS, &d)) {
		message("pcce-compare", "cannot compare: out of memory");
		goto out;
	}
	progress_end();
	if (d.by_names)
		message("pcce-compare", "warning: %s: contexts are compared by names", d.other);
	status = print_measured(accuracy_of_diff(&d, a->phi, &found), &found, a->phi);
	diff_free(&d);
out:
	for (int i = 0; i < 2; i++)
		if (p[i])
			profile_free(p[i]);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments a = {.phi = HOT_PHI};

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	if (is_tree_file(a.inputs[0]) != is_tree_file(a.inputs[1])) {
		message("pcce-compare",
			"cannot compare a recording with a .tree file: their contexts have "
			"nothing in common; name two of one kind");
		return 2;
	}
	return is_tree_file(a.inputs[0]) ? compare_tree_files(&a) : compare_profiles(&a);
}

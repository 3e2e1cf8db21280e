/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * implicit NAME PROGRAM FRAMES TREE
 *
 * Computes what hybrid encoding would save in one counted run of a program.
 *
 * PROGRAM has empty slots.  FRAMES is what readelf -wF prints for it.  TREE is the calling context
 * tree that count.c wrote.  Prints two lines of comma-separated values: in-edges ordered by
 * estimates, and by their counts in this run.  Without arguments, prints the names of the columns.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/papers/hybrid.h"
#include "bench/papers/tree.h"

static const char columns[] =
	"program,order,calls,noted_inside,noted_outside,indirect,callbacks,other,moving,zero,added,"
	"added_at_least,none,passed,guarded,conflicts,collisions,functions,implicit_functions,"
	"edges,"
	"edges_none,edges_guarded,edges_conflict,edges_moving";

static void print_row(const char *name, const char *order, const struct hybrid *h)
{
	const uint64_t values[] = {h->calls,
				   h->noted_inside,
				   h->noted_outside,
				   h->indirect,
				   h->callbacks,
				   h->other,
				   h->moving,
				   h->zero,
				   h->added,
				   h->added_at_least,
				   h->none,
				   h->passed,
				   h->guarded,
				   h->conflicts,
				   h->collisions,
				   h->functions,
				   h->implicit_functions,
				   h->edges,
				   h->edges_none,
				   h->edges_guarded,
				   h->edges_conflict,
				   h->edges_moving};

	printf("%s,%s", name, order);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		printf(",%" PRIu64, values[i]);
	putchar('\n');
}

static int print_order(char **argv, const struct frames *frames, const struct count_file *tree,
		       bool counted)
{
	const struct hybrid_options options = {.counted_order = counted, .most_offsets = 4096};
	struct program p; /* each run changes its graph */
	struct hybrid h;
	struct error why;

	if (program_open(argv[2], &p, &why)) {
		fprintf(stderr, "implicit: '%s' %s\n", argv[2], why.text);
		return -1;
	}
	if (hybrid_run(&p, frames, tree, &options, &h, &why)) {
		fprintf(stderr, "implicit: '%s' %s\n", argv[4], why.text);
		program_close(&p);
		return -1;
	}
	print_row(argv[1], counted ? "counts" : "estimates", &h);
	program_close(&p);
	return 0;
}

int main(int argc, char **argv)
{
	const struct count_file *tree;
	struct frames frames;
	struct error why;
	int failed;

	if (argc == 1) {
		puts(columns);
		return EXIT_SUCCESS;
	}
	if (argc != 5) {
		fprintf(stderr, "usage: implicit NAME PROGRAM FRAMES TREE\n");
		return 2;
	}
	if (count_file_open(argv[4], &tree, &why)) {
		fprintf(stderr, "implicit: '%s' %s\n", argv[4], why.text);
		return EXIT_FAILURE;
	}
	if (frames_read(argv[3], &frames, &why)) {
		fprintf(stderr, "implicit: '%s' %s\n", argv[3], why.text);
		return EXIT_FAILURE;
	}
	failed = print_order(argv, &frames, tree, false) || print_order(argv, &frames, tree, true);
	frames_free(&frames);
	return failed || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

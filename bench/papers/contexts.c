/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * contexts NAME PROGRAM SOURCE TREE DEPTHS
 *
 * Computes the rows of the paper's tables for a program and one counted run.
 *
 * PROGRAM has empty slots.  SOURCE is its source directory.  TREE is the calling context tree that
 * count.c wrote.  Prints a line of comma-separated values; without arguments, prints the names of
 * the columns.  Writes to DEPTHS how many function instances had each depth.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include "bench/papers/replay.h"
#include "bench/papers/static.h"
#include "bench/papers/tree.h"

static const char columns[] =
	"program,lines,files,nodes,edges,recursive,indirect,outside,"
	"id_ours,id_paper,id_ball_larus,back_ours,back_paper,cut_ours,cut_paper,"
	"instances,contexts,calls_max,calls_90,ours_max,ours_90,ours_plain_max,ours_plain_90,"
	"paper_max,paper_90,paper_plain_max,paper_plain_90,ours_nothing,ours_add,ours_push,paper_"
	"nothing,paper_add,paper_push,lost";

static uint64_t instances_at(const struct depths *d, uint32_t depth)
{
	return depth < d->size ? d->n[depth] : 0;
}

static int write_depths(const char *path, const struct replay *ours, const struct replay *paper)
{
	FILE *f = fopen(path, "w");
	uint32_t most = depths_quantile(&ours->calls, 1);

	if (!f) {
		fprintf(stderr, "contexts: cannot write '%s': %s\n", path, strerror(errno));
		return -1;
	}
	fprintf(f, "depth,calls,ours,ours_plain,paper,paper_plain\n");
	for (uint32_t i = 0; i <= most; i++) {
		uint64_t a = instances_at(&ours->calls, i), b = instances_at(&ours->entries, i),
			 c = instances_at(&ours->pushes, i), d = instances_at(&paper->entries, i),
			 e = instances_at(&paper->pushes, i);

		if (a | b | c | d | e)
			fprintf(f,
				"%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
				i, a, b, c, d, e);
	}
	if (fclose(f)) {
		fprintf(stderr, "contexts: cannot write '%s': %s\n", path, strerror(errno));
		return -1;
	}
	return 0;
}

static void print_stacks(const struct replay *r)
{
	printf("%u,%u,%u,%u,", depths_quantile(&r->entries, 1), depths_quantile(&r->entries, 0.9),
	       depths_quantile(&r->pushes, 1), depths_quantile(&r->pushes, 0.9));
}

static void print_row(const char *name, const struct static_counts *c, const struct numbering *a,
		      const struct numbering *b, const struct replay *ours,
		      const struct replay *paper, uint64_t lost)
{
	printf("%s,%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%u,", name, c->lines, c->files, c->nodes,
	       c->edges, c->recursive, c->indirect, c->outside);
	printf("%" PRIu64 ",%.0Lf,%.0Lf,%u,%u,%u,%u,", a->largest_id, c->largest_context,
	       c->largest_path, a->n_back, b->n_back, a->n_cut, b->n_cut);
	printf("%" PRIu64 ",%" PRIu64 ",%u,%u,", ours->instances, ours->contexts,
	       depths_quantile(&ours->calls, 1), depths_quantile(&ours->calls, 0.9));
	print_stacks(ours);
	print_stacks(paper);
	printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", ours->nothing, ours->adds, ours->pushed);
	printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", paper->nothing, paper->adds,
	       paper->pushed, lost);
}

int main(int argc, char **argv)
{
	/* Both use the whole width of an id.  pcce-encode itself prefers smaller ids. */
	static const struct numbering_options as_ours = {.limit = PCCE_ID_LIMIT},
					      as_in_the_paper = {.given_order = true};
	const struct count_file *tree;
	struct numbering a, b;
	struct static_counts counts;
	struct replay ours, paper;
	struct program p;
	struct error why;

	if (argc == 1) {
		puts(columns);
		return EXIT_SUCCESS;
	}
	if (argc != 6) {
		fprintf(stderr, "usage: contexts NAME PROGRAM SOURCE TREE DEPTHS\n");
		return 2;
	}
	if (count_file_open(argv[4], &tree, &why)) {
		fprintf(stderr, "contexts: '%s' %s\n", argv[4], why.text);
		return EXIT_FAILURE;
	}
	if (program_open(argv[2], &p, &why) || static_count(&p, argv[2], argv[3], &counts, &why)) {
		fprintf(stderr, "contexts: '%s' %s\n", argv[2], why.text);
		return EXIT_FAILURE;
	}
	if (numbering_compute(&p.graph.graph, &as_ours, &a) ||
	    numbering_compute(&p.graph.graph, &as_in_the_paper, &b)) {
		fprintf(stderr, "contexts: out of memory\n");
		return EXIT_FAILURE;
	}
	if (replay_run(&p, &a, true, tree, &ours, &why) ||
	    replay_run(&p, &b, false, tree, &paper, &why)) {
		fprintf(stderr, "contexts: '%s' %s\n", argv[4], why.text);
		return EXIT_FAILURE;
	}
	if (write_depths(argv[5], &ours, &paper))
		return EXIT_FAILURE;
	print_row(argv[1], &counts, &a, &b, &ours, &paper, tree->lost);
	replay_free(&ours);
	replay_free(&paper);
	numbering_free(&a);
	numbering_free(&b);
	program_close(&p);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * graph FUNCTIONS EDGES [SEED]
 *
 * Numbers a synthetic call graph.  Prints a line of comma-separated values: functions, sites,
 * seconds, MiB (the process's peak), largest id, back edges, cut edges, pushes.
 *
 * The graph resembles those of programs:
 *  - Files have 50 functions each.
 *  - Each function has one of LEVELS levels and calls functions of higher levels.  One call in
 *    fifty goes to any level and may close a cycle.
 *  - Three calls in four stay near.  Of the others, half go to any function, and half to a
 *    thousandth of the functions (allocation and the like).
 *  - One site in twenty is indirect, one in a hundred is a tail call.
 *  - One function in ten can be entered from outside.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "encode/numbering.h"

#define LEVELS 24

static uint64_t state;

static uint32_t random_below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % n);
}

static uint32_t level_of(uint32_t f)
{
	uint32_t h = f * 2654435761u;

	return (h >> 16) % LEVELS;
}

static uint32_t pick_callee(uint32_t n, uint32_t f)
{
	if (random_below(4))
		return (f / 50 * 50 + random_below(150)) % n;
	return random_below(2) ? n - 1 - random_below(1 + n / 1000) : random_below(n);
}

static uint32_t callee_of(uint32_t n, uint32_t f)
{
	uint32_t callee = pick_callee(n, f);

	if (random_below(50))
		for (int i = 0; i < 20 && level_of(callee) <= level_of(f); i++)
			callee = pick_callee(n, f);
	return callee;
}

static void make_sites(struct numbering_site *sites, uint32_t n_sites, uint32_t n)
{
	for (uint32_t i = 0; i < n_sites; i++) {
		uint32_t f = (uint32_t)((uint64_t)i * n / n_sites);
		struct numbering_site *s = &sites[i];

		/* Functions of the highest levels are leaves. */
		while (level_of(f) >= LEVELS - 4)
			f = (f + 1) % n;
		s->caller = f;
		s->callee = callee_of(n, f);
		s->freq = 1 + random_below(4096);
		if (random_below(20) == 0) {
			s->callee = NUMBERING_NO_CALLEE;
			s->flags = NUMBERING_PUSH;
		} else if (random_below(100) == 0 && level_of(s->callee) > level_of(f)) {
			s->flags = NUMBERING_TAIL;
		}
	}
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	uint32_t n_sites = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	struct numbering_site *sites;
	uint8_t *root, *enter;
	uint64_t pushes = 0;
	struct numbering out;
	struct rusage usage;
	double start;

	if (!n || !n_sites) {
		fprintf(stderr, "usage: graph FUNCTIONS EDGES [SEED]\n");
		return 2;
	}
	state = 88172645463325252ull + (argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
	sites = calloc(n_sites, sizeof(*sites));
	root = calloc(n, 1);
	enter = calloc(n, 1);
	if (!sites || !root || !enter) {
		fprintf(stderr, "graph: out of memory\n");
		return EXIT_FAILURE;
	}
	make_sites(sites, n_sites, n);
	for (uint32_t f = 0; f < n; f++) {
		root[f] = random_below(10) == 0;
		enter[f] = random_below(10) != 0;
	}
	start = cpu_seconds();
	if (numbering_compute(&(struct numbering_graph){.n_funcs = n,
							.n_sites = n_sites,
							.root = root,
							.sites = sites,
							.can_enter = enter},
			      NULL, &out)) {
		fprintf(stderr, "graph: out of memory\n");
		return EXIT_FAILURE;
	}
	start = cpu_seconds() - start;
	for (uint32_t i = 0; i < n_sites; i++)
		pushes += out.kind[i] == NUMBERED_PUSH;
	getrusage(RUSAGE_SELF, &usage);
	printf("%u,%u,%.2f,%ld,%" PRIu64 ",%u,%u,%" PRIu64 "\n", n, n_sites, start,
	       usage.ru_maxrss / 1024, out.largest_id, out.n_back, out.n_cut, pushes);
	numbering_free(&out);
	return EXIT_SUCCESS;
}

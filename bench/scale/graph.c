/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * graph FUNCTIONS EDGES [SEED]
 *
 * Numbers a synthetic call graph, and executes CALLS calls in it at random.  Prints a line of
 * comma-separated values: functions, sites, seconds, MiB (the process's peak), largest id, back
 * edges, cut edges, pushes.  Then of the executed direct calls, in percent: pushes in cycles,
 * pushes for lack of room, additions of values of 2^31 and more, and all additions.
 *
 * The graph resembles those of programs:
 *  - Files have 50 functions each.
 *  - Each function has one of LEVELS levels and calls functions of higher levels.  One call in
 *    fifty goes to any level and may close a cycle.
 *  - Three calls in four stay near.  Of the others, half go to any function, and half to a
 *    thousandth of the functions (allocation and the like).
 *  - One site in twenty is indirect, one in a hundred is a tail call.
 *  - One function in ten can be entered from outside.
 *
 * The numbering gets an estimate of how often a site is executed.  The real frequency differs from
 * it by a factor of 1/16 to 16.  One site in eight is never executed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "numbering/numbering.h"

#define LEVELS 24
#define CALLS 20000000
#define DEPTH 64

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
			f--;
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

/* What a run has executed. */
struct executed {
	uint64_t calls, back, cut, large, additions;
};

/* The real frequency of a site, by its number: the estimate times 2^-4 to 2^4. */
static double real_frequency(const struct numbering_site *s, uint32_t i)
{
	uint32_t h = i * 2246822519u;

	h ^= h >> 15;
	h *= 3266489917u;
	if (h >> 29 == 0)
		return 0;
	return s->freq * (double)(1u << (h >> 8) % 9) / 16;
}

/* Picks a site of the function by frequency.  sums has the running sums of all sites. */
static uint32_t pick_site(const double *sums, uint32_t from, uint32_t to)
{
	double before = from ? sums[from - 1] : 0, all = sums[to - 1] - before;
	double wanted = before + all * (double)random_below(1u << 30) / (1u << 30);

	while (to - from > 1) {
		uint32_t middle = from + (to - from - 1) / 2;

		if (sums[middle] > wanted)
			to = middle + 1;
		else
			from = middle + 1;
	}
	return from;
}

static void count_call(const struct numbering *n, const struct numbering_site *sites, uint32_t i,
		       struct executed *e)
{
	if (sites[i].flags & (NUMBERING_PUSH | NUMBERING_TAIL))
		return;
	e->calls++;
	if (n->kind[i] == NUMBERED_PUSH) {
		e->cut += n->cut[i];
		e->back += !n->cut[i];
	} else {
		e->additions += n->value[i] != 0;
		e->large += n->value[i] >> 31 != 0;
	}
}

/*
 * Walks from a random root down the calls and up again.  sites are ordered by caller.  Calls that
 * close cycles end the way down, as far as levels tell.
 */
static void execute(const struct numbering *n, const struct numbering_site *sites, uint32_t n_sites,
		    uint32_t n_funcs, struct executed *e)
{
	uint32_t *first = calloc((size_t)n_funcs + 1, sizeof(*first)), path[DEPTH], depth;
	double *sums = malloc(((size_t)n_sites + 1) * sizeof(*sums)), sum = 0;

	if (!first || !sums) {
		fprintf(stderr, "graph: out of memory\n");
		exit(EXIT_FAILURE);
	}
	for (uint32_t i = 0; i < n_sites; i++) {
		first[sites[i].caller + 1] = i + 1;
		sums[i] = sum += real_frequency(&sites[i], i);
	}
	for (uint32_t f = 0; f < n_funcs; f++)
		if (first[f + 1] < first[f])
			first[f + 1] = first[f];
	for (uint64_t done = 0; done < CALLS;) {
		/* A run spends its time below few functions. */
		path[0] = random_below(20) * (n_funcs / 20);
		depth = 1;
		for (int steps = 0; depth && steps < 10000; steps++, done++) {
			uint32_t f = path[depth - 1], from = first[f], to = first[f + 1];

			if (from == to || sums[to - 1] <= (from ? sums[from - 1] : 0) ||
			    depth == DEPTH || random_below(3) == 0) {
				depth--;
				continue;
			}
			uint32_t i = pick_site(sums, from, to);

			count_call(n, sites, i, e);
			if (sites[i].callee != NUMBERING_NO_CALLEE)
				path[depth++] = sites[i].callee;
		}
	}
	free(first);
	free(sums);
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
	struct executed e = {};
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
	const struct numbering_graph graph = {
		.n_funcs = n, .n_sites = n_sites, .root = root, .sites = sites, .can_enter = enter};

	if (numbering_compute(&graph, NULL, &out)) {
		fprintf(stderr, "graph: out of memory\n");
		return EXIT_FAILURE;
	}
	start = cpu_seconds() - start;
	getrusage(RUSAGE_SELF, &usage);
	for (uint32_t i = 0; i < n_sites; i++)
		pushes += out.kind[i] == NUMBERED_PUSH;
	execute(&out, sites, n_sites, n, &e);
	printf("%u,%u,%.2f,%ld,%" PRIu64 ",%u,%u,%" PRIu64 ",%.2f,%.2f,%.2f,%.1f\n", n, n_sites,
	       start, usage.ru_maxrss / 1024, out.largest_id, out.n_back, out.n_cut, pushes,
	       100.0 * (double)e.back / (double)e.calls, 100.0 * (double)e.cut / (double)e.calls,
	       100.0 * (double)e.large / (double)e.calls,
	       100.0 * (double)e.additions / (double)e.calls);
	numbering_free(&out);
	return EXIT_SUCCESS;
}

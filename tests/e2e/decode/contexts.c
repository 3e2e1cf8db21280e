/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * contexts DEPTH: captures one context at the end of an irregular recursion of this depth, and one
 * in a callback of qsort().  It writes what it knows of the chain, innermost function first, to
 * *.chain, and the mappings to maps.
 */
#include <stdio.h>
#include <stdlib.h>
#include "capture.h"

#define NOINLINE __attribute__((noinline, noclone))
#define DEPTH_MAX 20000

static const char *chain[DEPTH_MAX + 8];
static int n_chain;

static void note(const char *name)
{
	FILE *f = fopen(name, "w");

	for (int i = n_chain; f && i-- > 0;)
		fprintf(f, "%s\n", chain[i]);
	if (!f || fclose(f))
		exit(1);
}

static unsigned int walk_on(int depth, unsigned int seed);

static NOINLINE unsigned int left(int depth, unsigned int seed)
{
	unsigned int r;

	chain[n_chain++] = __func__;
	r = walk_on(depth - 1, seed * 1664525u + 1013904223u) + 1;
	n_chain--;
	return r;
}

static NOINLINE unsigned int right(int depth, unsigned int seed)
{
	unsigned int r;

	chain[n_chain++] = __func__;
	r = walk_on(depth - 1, seed * 69069u + 1) + 2;
	n_chain--;
	return r;
}

static NOINLINE unsigned int walk_on(int depth, unsigned int seed)
{
	unsigned int r;

	chain[n_chain++] = __func__;
	if (depth > 0) {
		r = seed >> 20 & 1 ? left(depth, seed) : right(depth, seed);
	} else {
		note("deep.chain");
		r = (unsigned int)capture("deep.state");
		if (r)
			exit(1);
	}
	n_chain--;
	return r + 3;
}

static NOINLINE int compare(const void *a, const void *b)
{
	chain[n_chain++] = __func__;
	note("callback.chain");
	if (capture("callback.state"))
		exit(1);
	n_chain--;
	return *(const int *)a - *(const int *)b;
}

static void copy_maps(void)
{
	FILE *from = fopen("/proc/self/maps", "r"), *to = fopen("maps", "w");
	int c;

	while (from && to && (c = getc(from)) != EOF)
		putc(c, to);
	if (!from || !to || fclose(from) || fclose(to))
		exit(1);
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 10, two[2] = {2, 1};

	if (depth > DEPTH_MAX / 2)
		return 1;
	chain[n_chain++] = "main";
	copy_maps();
	walk_on(depth, 12345);
	qsort(two, 2, sizeof(*two), compare);
	return two[0] != 1;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Allocates in a loop, and prints the nanoseconds of CPU time of one allocation with its free().
 *
 *   allocations few ROUNDS     two contexts at depth 3, 4 microseconds of work each
 *   allocations tight ROUNDS   the same without work
 *   allocations tree ROUNDS    8,191 contexts up to depth 13, without work
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noipa))

static int work;

struct node {
	struct node *left, *right;
	long value;
};

NOINLINE static struct node *build(int depth)
{
	struct node *n = malloc(sizeof(*n));

	n->value = depth;
	n->left = depth ? build(depth - 1) : NULL;
	n->right = depth ? build(depth - 1) : NULL;
	return n;
}

NOINLINE static void drop(struct node *n)
{
	if (!n)
		return;
	drop(n->left);
	drop(n->right);
	free(n);
}

NOINLINE static void use(char *p, size_t n)
{
	volatile unsigned int x = 1;

	memset(p, 1, n);
	for (int i = 0; i < work; i++)
		x = x * 1664525 + 1013904223;
}

NOINLINE static void once(size_t n)
{
	char *p = malloc(n);

	use(p, n);
	free(p);
}

NOINLINE static void deeper(size_t n)
{
	once(n);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "few";
	long rounds = argc > 2 ? atol(argv[2]) : 1000000, n = rounds;
	struct timespec from, to;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	if (!strcmp(kind, "tree")) {
		n = rounds / 8191 * 8191;
		for (long i = 0; i < rounds / 8191; i++)
			drop(build(12));
	} else {
		work = strcmp(kind, "few") ? 0 : 500;
		for (long i = 0; i < rounds; i++)
			if (i & 1)
				once(50);
			else
				deeper(100);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	printf("%.1f\n",
	       ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		       (double)n);
	return 0;
}

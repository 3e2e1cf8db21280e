/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Has a site of every kind: zero, add, ext, push (outward, indirect, back edge), tail call. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static jmp_buf env;

static NOINLINE int leaf(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

static NOINLINE int twice(int x)
{
	return leaf(x) + leaf(x + 1);
}

static NOINLINE int tail(int x)
{
	return leaf(x + 2);
}

static NOINLINE int recurse(int n)
{
	return n < 2 ? leaf(n) : recurse(n - 1) + twice(n);
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

static NOINLINE void jump(int x)
{
	if (leaf(x) > 3)
		longjmp(env, x);
}

int main(int argc, char **argv)
{
	int (*volatile f)(int) = argc > 5 ? recurse : twice;
	int v[] = {5, 3, 9, 1}, jumped;

	qsort(v, 4, sizeof(*v), compare);
	jumped = setjmp(env);
	if (!jumped)
		jump(7);
	printf("%d %d %d %d %d %zu\n", v[0], recurse(10), f(4), tail(v[1]), jumped,
	       strlen(argv[1]));
	return 0;
}

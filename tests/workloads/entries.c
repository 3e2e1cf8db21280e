/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Enters functions in every way: by calls, through pointers, by jumps of both lengths, from
 * uninstrumented code (which has an id that the last callback left), as a leaf's replacement, and
 * with something else at their entry.
 *
 * expect: (^|;)main;hot;work;burn( |;)
 * expect: ;by_pointer;work;burn( |;)
 * expect: ;sort;(.*;)?first;work;burn( |;)
 * expect: ;sort;(.*;)?second;burn( |;)
 * expect: ;sort;(.*;)?free;freed;burn( |;)
 * expect: ;patchable;work;burn( |;)
 * expect: ;jumps;.*near;burn( |;)
 */
#include <string.h>
#include "burn.h"

int work(int x);
int second(const void *a, const void *b);
static int near(int x);

static int (*volatile pointer)(int) = work;
static int (*volatile near_pointer)(int) = near;
static unsigned int freed_blocks;

NOINLINE int work(int x)
{
	burn(30);
	return x * 3 + 1;
}

/* The library's qsort() calls these between callbacks. */
static _Alignas(16) char pool[1 << 16];
static size_t pool_used;

static NOINLINE void freed(void)
{
	burn(2000);
	freed_blocks++;
}

void *malloc(size_t size)
{
	void *p = pool + pool_used;

	size = (size + 15) & ~(size_t)15;
	if (pool_used + size > sizeof(pool))
		return NULL;
	pool_used += size;
	return p;
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size); /* never used twice, so it is zero */
}

void *realloc(void *old, size_t size)
{
	void *p = malloc(size);

	if (p && old)
		memcpy(p, old,
		       size < (size_t)((char *)p - (char *)old)
			       ? size
			       : (size_t)((char *)p - (char *)old));
	return p;
}

void free(void *p)
{
	if (p >= (void *)pool && p < (void *)(pool + sizeof(pool)) && pool_used > 4096)
		pool_used -= 2048; /* what sort's qsort() has taken */
	freed();
}

NOINLINE int first(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (work(x) == work(y))
		return second(a, b);
	return x < y ? -1 : 1;
}

NOINLINE int second(const void *a, const void *b)
{
	burn(30);
	return memcmp(a, b, 16);
}

NOINLINE int sort(int seed)
{
	int items[128][4];
	unsigned int state = (unsigned int)seed;

	for (int i = 0; i < 128; i++)
		for (int k = 0; k < 4; k++)
			items[i][k] = (int)(next_random(&state) % 50);
	qsort(items, 128, sizeof(items[0]), seed % 2 ? first : second);
	return items[64][0];
}

NOINLINE int hot(int x)
{
	int sum = 0;

	for (int i = 0; i < 8; i++)
		sum += work(x + i);
	return sum;
}

NOINLINE int by_pointer(int x)
{
	return pointer(x) + 1;
}

__attribute__((noinline, patchable_function_entry(5, 2))) int patchable(int x)
{
	return work(x) + 1;
}

static NOINLINE int near(int x)
{
	burn(30);
	return x ^ 5;
}

/* The assembler makes a short jump of it. */
static NOINLINE int jumps(int x)
{
	burn(1);
	return near(x + 1);
}

static NOINLINE int jumps_far(int x)
{
	burn(1);
	return work(x + 1);
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < (int)ROUNDS(400000, 4); i++) {
		sum += hot(i) + by_pointer(i) + patchable(i) + jumps(i) + jumps_far(i) +
		       near_pointer(i);
		if (i % 32 == 0 || ROUNDS(0, i % 2))
			sum += sort(i / 32) + sort(i / 32 + 1);
	}
	printf("%d %d\n", sum, freed_blocks != 0);
	return 0;
}

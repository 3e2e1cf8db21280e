/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See array.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

int array_grow(void *array, size_t n, size_t size)
{
	void **p = array, *more;

	if (n & (n - 1) || (n && n < 64))
		return 0;
	more = reallocarray(*p, n ? n * 2 : 64, size);
	if (!more)
		return -ENOMEM;
	*p = more;
	return 0;
}

int array_grow_from(void *array, size_t n, size_t *capacity, size_t least, size_t size)
{
	size_t want = *capacity ? *capacity * 2 : least;
	void **p = array, *more;

	if (n < *capacity)
		return 0;
	more = reallocarray(*p, want, size);
	if (!more)
		return -ENOMEM;
	*p = more;
	*capacity = want;
	return 0;
}

int array_reach(void *array, uint32_t *n, uint32_t index, uint32_t least, size_t size)
{
	uint32_t want = *n ? *n : least;
	void **p = array;
	char *more;

	if (index < *n)
		return 0;
	while (want <= index)
		want *= 2;
	more = reallocarray(*p, want, size);
	if (!more)
		return -ENOMEM;
	memset(more + *n * size, 0, (want - *n) * size);
	*p = more;
	*n = want;
	return 0;
}

int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

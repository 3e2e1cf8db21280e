/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See array.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

int array_resize(void *array, size_t n, size_t size)
{
	void **p = array, *more = reallocarray(*p, n, size);

	if (!more)
		return -ENOMEM;
	*p = more;
	return 0;
}

int array_grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || (n && n < 64))
		return 0;
	return array_resize(array, n ? n * 2 : 64, size);
}

int array_grow_from(void *array, size_t n, size_t *capacity, size_t least, size_t size)
{
	return array_reserve(array, capacity, *capacity ? n + 1 : least, size);
}

int array_reserve(void *array, size_t *capacity, size_t n, size_t size)
{
	size_t want = n < *capacity * 2 ? *capacity * 2 : n;

	if (n <= *capacity)
		return 0;
	if (array_resize(array, want, size))
		return -ENOMEM;
	*capacity = want;
	return 0;
}

int array_reach(void *array, size_t *n, size_t index, size_t least, size_t size)
{
	size_t old = *n;

	if (index < old)
		return 0;
	if (array_reserve(array, n, index < least ? least : index + 1, size))
		return -ENOMEM;
	memset(*(char **)array + old * size, 0, (*n - old) * size);
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

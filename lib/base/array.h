/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Grows arrays, and compares their elements. */
#ifndef PCCE_BASE_ARRAY_H
#define PCCE_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Makes an array one of n elements, which is not 0. array points to the array's pointer. 0 or
 * -ENOMEM. */
int array_resize(void *array, size_t n, size_t size);

/* Makes room for one more element in an array of n elements of `size` bytes. The capacity is 64,
 * then doubles, so the caller keeps no capacity. 0 or -ENOMEM. */
int array_grow(void *array, size_t n, size_t size);

/* Makes room for one more element in an array whose capacity the caller keeps. The capacity is
 * `least` at first, then doubles. 0 or -ENOMEM. */
int array_grow_from(void *array, size_t n, size_t *capacity, size_t least, size_t size);

/* Makes room for n elements altogether in an array whose capacity the caller keeps. The capacity at
 * least doubles. 0 or -ENOMEM. */
int array_reserve(void *array, size_t *capacity, size_t n, size_t size);

/* Makes room up to an index in an array of *n elements, which are zeros at first. *n is `least`,
 * then doubles. 0 or -ENOMEM. */
int array_reach(void *array, size_t *n, size_t index, size_t least, size_t size);

/* Compare two uint32_t or uint64_t, for qsort(). */
int compare_u32(const void *a, const void *b);
int compare_u64(const void *a, const void *b);

/*
 * Define a function for qsort() that compares two structs by a field, then by further ones; smaller
 * ones come first. For example:
 *
 *	COMPARE_BY2(compare_tails, struct pcce_table_tail, from, to);
 */
#define COMPARE_BY1(NAME, TYPE, A)                     \
	static int NAME(const void *a, const void *b)  \
	{                                              \
		const TYPE *x = a, *y = b;             \
                                                       \
		return x->A < y->A ? -1 : x->A > y->A; \
	}                                              \
	static int NAME(const void *a, const void *b)

#define COMPARE_BY2(NAME, TYPE, A, B)                  \
	static int NAME(const void *a, const void *b)  \
	{                                              \
		const TYPE *x = a, *y = b;             \
                                                       \
		if (x->A != y->A)                      \
			return x->A < y->A ? -1 : 1;   \
		return x->B < y->B ? -1 : x->B > y->B; \
	}                                              \
	static int NAME(const void *a, const void *b)

#define COMPARE_BY3(NAME, TYPE, A, B, C)               \
	static int NAME(const void *a, const void *b)  \
	{                                              \
		const TYPE *x = a, *y = b;             \
                                                       \
		if (x->A != y->A)                      \
			return x->A < y->A ? -1 : 1;   \
		if (x->B != y->B)                      \
			return x->B < y->B ? -1 : 1;   \
		return x->C < y->C ? -1 : x->C > y->C; \
	}                                              \
	static int NAME(const void *a, const void *b)

#endif

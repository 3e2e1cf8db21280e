/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Grows arrays, and compares their elements. */
#ifndef PCCE_BASE_ARRAY_H
#define PCCE_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for one more element in an array of n elements of `size` bytes.
 * array points to the array's pointer. The capacity is 64, then doubles, so the
 * caller keeps no capacity. 0 or -ENOMEM.
 */
int array_grow(void *array, size_t n, size_t size);

/* Makes room for one more element in an array whose capacity the caller keeps. The capacity is
 * `least` at first, then doubles. 0 or -ENOMEM. */
int array_grow_from(void *array, size_t n, size_t *capacity, size_t least, size_t size);

/* Makes room up to an index, below 2^31, in an array of *n elements, which are zeros at first. *n
 * is `least`, then doubles. 0 or -ENOMEM. */
int array_reach(void *array, uint32_t *n, uint32_t index, uint32_t least, size_t size);

/* Compare two uint32_t or uint64_t, for qsort(). */
int compare_u32(const void *a, const void *b);
int compare_u64(const void *a, const void *b);

#endif

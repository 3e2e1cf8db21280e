/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See huge_alloc.h. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/huge_alloc.h"

#define HUGE_PAGE ((uintptr_t)2 << 20)

/* Large arrays bypass malloc(): each growing table would leave holes in its heap, of up to 32 MiB.
 */
void *huge_alloc(size_t n, size_t size)
{
	uintptr_t from, to;
	size_t bytes;
	void *array;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes < HUGE_PAGE)
		return calloc(n, size);
	array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (array == MAP_FAILED)
		return NULL;
	/* Without huge pages, the call does nothing. */
	from = ((uintptr_t)array + HUGE_PAGE - 1) & -HUGE_PAGE;
	to = ((uintptr_t)array + bytes) & -HUGE_PAGE;
	if (from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
	return array;
}

void huge_free(void *array, size_t n, size_t size)
{
	if (n * size < HUGE_PAGE)
		free(array);
	else
		munmap(array, n * size);
}

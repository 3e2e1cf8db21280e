/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See huge_alloc.h. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/huge_alloc.h"

#define HUGE_PAGE ((uintptr_t)2 << 20)

void *huge_alloc(size_t n, size_t size)
{
	void *slots = calloc(n, size);
	uintptr_t from = ((uintptr_t)slots + HUGE_PAGE - 1) & -HUGE_PAGE;
	uintptr_t to = ((uintptr_t)slots + n * size) & -HUGE_PAGE;

	/* Such memory is mostly fresh and has no pages yet. Without huge pages, the call does
	 * nothing. */
	if (slots && from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
	return slots;
}

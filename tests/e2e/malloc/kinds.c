// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Allocates a known number of bytes by each function, in a function that is named after it. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND(name) __attribute__((noipa)) static void *by_##name(void *old, size_t size)

KIND(malloc)
{
	(void)old;
	return malloc(size);
}

KIND(calloc)
{
	(void)old;
	return calloc(size / 10, 10);
}

KIND(realloc)
{
	return realloc(old, size);
}

KIND(reallocarray)
{
	return reallocarray(old, size / 10, 10);
}

KIND(posix_memalign)
{
	void *p;

	(void)old;
	return posix_memalign(&p, 256, size) ? NULL : p;
}

KIND(aligned_alloc)
{
	(void)old;
	return aligned_alloc(128, size);
}

KIND(memalign)
{
	(void)old;
	return memalign(512, size);
}

KIND(strdup)
{
	char text[1000];

	(void)old;
	memset(text, 'x', size - 1);
	text[size - 1] = 0;
	return strdup(text);
}

KIND(pointer)
{
	void *(*volatile function)(size_t) = malloc;

	(void)old;
	return function(size);
}

/* A jump: its frame is gone when malloc() runs. */
__attribute__((noipa)) static void *by_jump(size_t size)
{
	return malloc(size);
}

static void *(*const kinds[])(void *, size_t) = {
	by_malloc,	  by_calloc,   by_realloc, by_reallocarray, by_posix_memalign,
	by_aligned_alloc, by_memalign, by_strdup,  by_pointer,
};

int main(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *p;

	for (int i = 0; i < 100; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			errno = 77;
			p = kinds[k](NULL, 100 * (k + 1));
			if (!p || errno != 77)
				return 1;
			if ((kinds[k] == by_posix_memalign && (uintptr_t)p % 256) ||
			    (kinds[k] == by_memalign && (uintptr_t)p % 512))
				return 2;
			p = realloc(p, 1);
			free(p);
		}
	free(by_jump(1000));
	/* What fails does not count, and says why. */
	errno = 0;
	if (malloc(huge) || errno != ENOMEM)
		return 3;
	errno = 0;
	if (calloc(huge, 16) || reallocarray(NULL, huge, 16) || errno != ENOMEM)
		return 4;
	free(malloc(0));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replaces the C library's malloc by an instrumented one, by LD_PRELOAD.  It is called before
 * anything is set up, from the dynamic linker, from the runtime itself, in threads without a page,
 * and by functions that it calls.
 */
#include <stddef.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define HEAP (64ul << 20)

static char heap[HEAP] __attribute__((aligned(16)));
static unsigned long used;

void *malloc(size_t size);
void free(void *p);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t size);
void *memalign(size_t align, size_t size);
void *aligned_alloc(size_t align, size_t size);
int posix_memalign(void **p, size_t align, size_t size);

static NOINLINE char *take(size_t bytes)
{
	unsigned long at = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);

	return at + bytes <= HEAP ? heap + at : NULL;
}

static NOINLINE void *allocate(size_t align, size_t size)
{
	char *p = take(((size + 15) & ~15ul) + align + 16);
	unsigned long at;

	if (!p)
		return NULL;
	at = ((unsigned long)p + 16 + align - 1) & ~(align - 1);
	((size_t *)at)[-1] = size;
	return (void *)at;
}

void *malloc(size_t size)
{
	return allocate(16, size);
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return allocate(16, n * size);
}

void *realloc(void *p, size_t size)
{
	void *fresh = allocate(16, size);
	size_t old = p ? ((size_t *)p)[-1] : 0;

	if (fresh && p)
		memcpy(fresh, p, old < size ? old : size);
	return fresh;
}

void *memalign(size_t align, size_t size)
{
	return allocate(align < 16 ? 16 : align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	*p = memalign(align, size);
	return *p ? 0 : 12;
}

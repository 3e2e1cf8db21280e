// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts allocations in a library that is preloaded behind libpcce-malloc.so: the truth that a
 * recording is compared with. Each process appends "COUNT BYTES LIVE_COUNT LIVE_BYTES
 * PEAK_BYTES" to the file that TRUTH names. A child does not count what it has inherited.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES (1u << 20)

static unsigned long count, bytes, live_count, live_bytes, peak_bytes;
static int lock;
/* Sizes of allocations, by address. */
static struct {
	const void *p;
	size_t size;
} places[PLACES];

static void begin_change(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void end_change(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static unsigned int place_of(const void *p)
{
	return (unsigned int)((uintptr_t)p * 0x9e3779b97f4a7c15ULL >> 44);
}

static void note(const void *p, size_t size)
{
	unsigned int at = place_of(p);

	if (!p)
		return;
	begin_change();
	count++;
	bytes += size;
	live_count++;
	live_bytes += size;
	peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
	while (places[at].p > (const void *)1) /* 1: there was another one */
		at = (at + 1) % PLACES;
	places[at].p = p;
	places[at].size = size;
	end_change();
}

static void forget(const void *p)
{
	unsigned int at = place_of(p);

	if (!p)
		return;
	begin_change();
	while (places[at].p && places[at].p != p)
		at = (at + 1) % PLACES;
	if (places[at].p) {
		places[at].p = (const void *)1;
		live_count--;
		live_bytes -= places[at].size;
	}
	end_change();
}

#define NEXT(name)                                                           \
	({                                                                   \
		static __typeof__(name) *next_;                              \
		if (!next_)                                                  \
			next_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
		next_;                                                       \
	})

void *malloc(size_t size)
{
	void *p = NEXT(malloc)(size);

	note(p, size);
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p = NEXT(calloc)(n, size);

	note(p, n * size);
	return p;
}

void *realloc(void *old, size_t size)
{
	void *p;

	/* It does not fail in the tests. */
	forget(old);
	p = NEXT(realloc)(old, size);
	note(p, size);
	return p;
}

int posix_memalign(void **to, size_t alignment, size_t size)
{
	int ret = NEXT(posix_memalign)(to, alignment, size);

	note(ret == 0 ? *to : NULL, size);
	return ret;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	void *p = NEXT(aligned_alloc)(alignment, size);

	note(p, size);
	return p;
}

void *memalign(size_t alignment, size_t size)
{
	void *p = NEXT(memalign)(alignment, size);

	note(p, size);
	return p;
}

void free(void *p)
{
	forget(p);
	NEXT(free)(p);
}

static void in_child(void)
{
	count = bytes = live_count = live_bytes = peak_bytes = 0;
	memset(places, 0, sizeof(places));
	lock = 0;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

__attribute__((destructor)) static void end(void)
{
	const char *to = getenv("TRUTH");
	char line[128];
	int fd = to ? open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1,
	    n = snprintf(line, sizeof(line), "%lu %lu %lu %lu %lu\n", count, bytes, live_count,
			 live_bytes, peak_bytes);

	if (fd >= 0 && write(fd, line, (size_t)n) != n)
		_exit(99);
}

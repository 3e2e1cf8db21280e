// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Defines malloc(), free() and their kin, for libpcce-malloc.so, which pcce-record -e malloc puts
 * into LD_PRELOAD. Each function calls the next one of its name, and tells the runtime of the
 * program what was allocated or is about to be freed (include/pcce/allocation.h). So a program that
 * is not recorded in this way pays nothing, and the next function may be any allocator's that is a
 * shared library. The C library itself calls malloc() through its PLT, too, so strdup(), getline()
 * and so on are seen.
 *
 * What an allocator allocates in order to allocate does not count, nor does what the runtime
 * allocates at its start. A signal handler that interrupts malloc() and allocates counts, although
 * POSIX forbids it to allocate.
 *
 * operator new usually calls malloc(), which then counts. That of some allocators does not, which
 * the runtime is told. A definition here could not find the next one if only a library that was
 * loaded later has it.
 *
 * Before the first allocation, dlsym() finds the next functions. What it allocates itself comes
 * from a small array, and is never freed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcce/allocation.h>
#include "malloc/live.h"
#include "malloc/poisson.h"

extern __typeof__(pcce_allocation_begin) pcce_allocation_begin __attribute__((weak));
extern __typeof__(pcce_allocation_take) pcce_allocation_take __attribute__((weak));
extern __typeof__(pcce_allocation_sums) pcce_allocation_sums __attribute__((weak));
/* operator new. dlsym() would keep an error if there is none, which the program could see. */
extern void *_Znwm(size_t) __attribute__((weak));

#define PUBLIC __attribute__((visibility("default")))
#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))
#define RARE(condition) __builtin_expect(condition, false)

static struct {
	__typeof__(malloc) *malloc;
	__typeof__(free) *free;
	__typeof__(calloc) *calloc;
	__typeof__(realloc) *realloc;
	__typeof__(posix_memalign) *posix_memalign;
	__typeof__(aligned_alloc) *aligned_alloc;
	__typeof__(memalign) *memalign;
	__typeof__(valloc) *valloc;
	__typeof__(pvalloc) *pvalloc;
} next;

/* Bytes between samples. 0: no samples are taken. */
static uint64_t period;
static bool begun;

/* The module of the next malloc(). */
static uint64_t allocator, allocator_size;

enum place { OUTSIDE, ALLOCATING, BEGINNING };

static __thread struct {
	enum place place;
	struct poisson points;
	const void *last; /* the allocation that was made last, and its counter */
	uint32_t counter;
} own __attribute__((tls_model("initial-exec")));

/* ---- before the next functions are known ------------------------------------------ */

static _Alignas(16) char early[4096];
static size_t early_used;

static void *early_alloc(size_t size)
{
	size_t at = early_used, need = (size + 15) & ~(size_t)15;

	if (need < size || need > sizeof(early) - at) {
		errno = ENOMEM;
		return NULL;
	}
	early_used = at + need;
	return early + at;
}

static bool is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

static void *find_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static int find_allocator_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t at = *(const uint64_t *)arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || at - info->dlpi_addr - p->p_vaddr >= p->p_memsz)
			continue;
		allocator = info->dlpi_addr + p->p_vaddr;
		allocator_size = p->p_memsz;
		return 1;
	}
	return 0;
}

/* Finds the code of the allocator. Returns whether it has an operator new, which then does not call
 * malloc(). */
static bool find_allocator(void)
{
	uint64_t at = (uint64_t)(uintptr_t)next.malloc;

	dl_iterate_phdr(find_allocator_module, &at);
	return _Znwm && (uint64_t)(uintptr_t)_Znwm - allocator < allocator_size;
}

/* The environment is there before any code of the program runs, but not before all modules are
 * relocated. */
static void begin_hooks(void)
{
	enum place before = own.place;
	int saved_errno = errno;

	own.place = BEGINNING;
	if (!next.malloc) {
		next.free = (__typeof__(next.free))find_next("free");
		next.calloc = (__typeof__(next.calloc))find_next("calloc");
		next.realloc = (__typeof__(next.realloc))find_next("realloc");
		next.posix_memalign = (__typeof__(next.posix_memalign))find_next("posix_memalign");
		next.aligned_alloc = (__typeof__(next.aligned_alloc))find_next("aligned_alloc");
		next.memalign = (__typeof__(next.memalign))find_next("memalign");
		next.valloc = (__typeof__(next.valloc))find_next("valloc");
		next.pvalloc = (__typeof__(next.pvalloc))find_next("pvalloc");
		next.malloc = (__typeof__(next.malloc))find_next("malloc");
	}
	if (environ) {
		begun = true;
		if (pcce_allocation_begin && pcce_allocation_sums) {
			uint64_t sampled = pcce_allocation_begin(find_allocator(), live_after_fork);

			if (sampled)
				live_begin(sampled > 1);
			period = sampled;
		}
	}
	own.place = before;
	errno = saved_errno;
}

/* ---- each allocation ------------------------------------------------------------- */

/* An allocation that is under way. */
struct call {
	enum place before;
	uint64_t caller;
	bool counts;
};

static inline struct call enter(uint64_t caller)
{
	struct call c = {.before = own.place, .caller = caller, .counts = true};

	if (RARE(c.before))
		c.counts = c.before == ALLOCATING && caller - allocator >= allocator_size;
	else if (RARE(!begun))
		begin_hooks();
	own.place = c.before == BEGINNING ? BEGINNING : ALLOCATING;
	return c;
}

static inline void tell(const void *p, size_t size, const void *function, uint64_t caller)
{
	struct allocation a = {.bytes = size};
	struct pcce_allocation_sums sums;

	if (!period)
		return;
	own.last = p;
	own.counter = 0;
	if (period > 1) {
		if (!poisson_take(&own.points, size, period))
			return;
		a.bytes = poisson_weight(size, period);
	}
	a.counter = own.counter = pcce_allocation_take(function, caller, a.bytes);
	if (!a.counter)
		return;
	sums = pcce_allocation_sums();
	if (sums.counters && live_add(sums, p, a))
		ledger_add(sums, a);
}

/* p: what was allocated; NULL: nothing. */
static inline void leave(struct call c, const void *p, size_t size, const void *function)
{
	own.place = c.before;
	if (p && c.counts)
		tell(p, size, function, c.caller);
}

PUBLIC void *malloc(size_t size)
{
	struct call c = enter(CALLER);
	void *p = next.malloc ? next.malloc(size) : early_alloc(size);

	leave(c, p, size, malloc);
	return p;
}

PUBLIC void *calloc(size_t n, size_t size)
{
	struct call c = enter(CALLER);
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes))
		bytes = SIZE_MAX;
	p = next.calloc ? next.calloc(n, size) : early_alloc(bytes);
	leave(c, p, bytes, calloc);
	return p;
}

static void *realloc_early(void *old, size_t size)
{
	size_t room = (size_t)(early + sizeof(early) - (char *)old);
	void *p = next.malloc ? next.malloc(size) : early_alloc(size);

	if (p)
		memmove(p, old, size < room ? size : room);
	return p;
}

static inline void *do_realloc(void *old, size_t size, const void *function, uint64_t caller)
{
	struct call c = enter(caller);
	struct pcce_allocation_sums sums = {0};
	struct allocation was = {0};
	void *p;

	if (old && period && c.counts)
		sums = pcce_allocation_sums();
	if (sums.counters)
		was = live_remove(sums, old);
	p = RARE(is_early(old)) ? realloc_early(old, size)
	    : next.realloc	? next.realloc(old, size)
				: early_alloc(size);
	if (was.counter) {
		/* Without bytes, this is a free(). */
		if (p || !size)
			ledger_subtract(sums, was, false);
		else
			live_add(sums, old, was);
	}

	leave(c, p, size, function);
	return p;
}

PUBLIC void *realloc(void *old, size_t size)
{
	return do_realloc(old, size, realloc, CALLER);
}

PUBLIC void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return do_realloc(old, bytes, reallocarray, CALLER);
}

PUBLIC int posix_memalign(void **to, size_t alignment, size_t size)
{
	struct call c = enter(CALLER);
	int ret = next.posix_memalign ? next.posix_memalign(to, alignment, size) : ENOMEM;

	leave(c, ret == 0 ? *to : NULL, size, posix_memalign);
	return ret;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
	struct call c = enter(CALLER);
	void *p = next.aligned_alloc ? next.aligned_alloc(alignment, size) : NULL;

	leave(c, p, size, aligned_alloc);
	return p;
}

PUBLIC void *memalign(size_t alignment, size_t size)
{
	struct call c = enter(CALLER);
	void *p = next.memalign ? next.memalign(alignment, size) : NULL;

	leave(c, p, size, memalign);
	return p;
}

PUBLIC void *valloc(size_t size)
{
	struct call c = enter(CALLER);
	void *p = next.valloc ? next.valloc(size) : NULL;

	leave(c, p, size, valloc);
	return p;
}

PUBLIC void *pvalloc(size_t size)
{
	struct call c = enter(CALLER);
	void *p = next.pvalloc ? next.pvalloc(size) : NULL;

	leave(c, p, size, pvalloc);
	return p;
}

static inline void tell_free(const void *p)
{
	struct pcce_allocation_sums sums = pcce_allocation_sums();
	struct allocation a = {0};

	if (sums.counters)
		a = live_remove(sums, p);
	if (a.counter)
		ledger_subtract(sums, a, own.last == p && own.counter == a.counter);
}

static inline void do_free(void *p)
{
	if (RARE(!next.free)) {
		if (p && !is_early(p))
			begin_hooks();
		if (!next.free)
			return;
	}
	if (RARE(is_early(p)))
		return;
	if (p && period)
		tell_free(p);
	next.free(p);
}

PUBLIC void free(void *p)
{
	do_free(p);
}

/* Not in all C libraries, and of older programs and of C23. They are defined as free(p). */
PUBLIC void cfree(void *p)
{
	do_free(p);
}

PUBLIC void free_sized(void *p, size_t size)
{
	(void)size;
	do_free(p);
}

PUBLIC void free_aligned_sized(void *p, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	do_free(p);
}

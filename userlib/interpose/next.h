/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the next function of a name: what the program would call if the runtime did not define it.
 */
#ifndef PCCE_USERLIB_NEXT_H
#define PCCE_USERLIB_NEXT_H

#include <dlfcn.h>
#include <stddef.h>

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L)
#endif

/* Missing in some static programs. */
extern void *dlsym(void *, const char *) __attribute__((weak));
/* The C library's, where --wrap=dlsym has led `dlsym` to own_next.c. */
extern void *__real_dlsym(void *, const char *) __attribute__((weak));

static inline void *real_dlsym(void *handle, const char *name)
{
	if (__real_dlsym)
		return __real_dlsym(handle, name);
	return dlsym ? dlsym(handle, name) : NULL;
}

/*
 * Returns `known` if it is not NULL, else the next `name` of the global scope. If there is none, as
 * in a static program, returns `otherwise`. Keeps the result in *found. Several threads may call
 * this at once; all find the same function.
 */
static inline void *next_function(void **found, void *known, const char *name, void *otherwise)
{
	void *next = __atomic_load_n(found, __ATOMIC_RELAXED);

	if (next)
		return next;
	next = known ? known : real_dlsym(RTLD_NEXT, name);
	if (!next)
		next = otherwise;
	__atomic_store_n(found, next, __ATOMIC_RELAXED);
	return next;
}

#endif

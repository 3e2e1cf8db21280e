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
	next = known ? known : dlsym ? dlsym(RTLD_NEXT, name) : NULL;
	if (!next)
		next = otherwise;
	__atomic_store_n(found, next, __ATOMIC_RELAXED);
	return next;
}

#endif

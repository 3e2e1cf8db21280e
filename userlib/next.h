/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions behind ours: what the program would call if the runtime did not define the name as
 * well.
 */
#ifndef PCCE_USERLIB_NEXT_H
#define PCCE_USERLIB_NEXT_H

#include <dlfcn.h>
#include <stddef.h>

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L)
#endif

/* Not in every static program. */
extern void *dlsym(void *, const char *) __attribute__((weak));

/*
 * `known`, or if that is NULL the next `name` of the global scope, or where there is none, as in a
 * static program, `otherwise`.  Kept in *found. Several threads may come here at once; all find the
 * same.
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

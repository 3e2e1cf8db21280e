// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes dlclose(), so that the self sampler forgets where the library was. dlopen() is not
 * interposed; see self_maps.c.
 */
#include "internal.h"
#include "next.h"

extern int __dlclose(void *) __attribute__((weak));

__attribute__((visibility("default"))) int dlclose(void *handle)
{
	static void *found;
	int (*real)(void *) =
		(int (*)(void *))next_function(&found, (void *)__dlclose, "dlclose", NULL);
	int ret;

	if (!real)
		return -1;
	ret = real(handle);
	if (ret == 0)
		self_rescan();
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dlclose(): the self sampler forgets where the library was.  dlopen() is left alone; see
 * self_maps.c.
 */
#include <dlfcn.h>
#include "internal.h"

extern void *dlsym(void *, const char *) __attribute__((weak));
extern int __dlclose(void *) __attribute__((weak));

__attribute__((visibility("default"))) int dlclose(void *handle)
{
	int (*real)(void *) = __dlclose ? __dlclose
			      : dlsym	? (int (*)(void *))(uintptr_t)dlsym((void *)-1L, "dlclose")
					: NULL;
	int ret;

	if (!real)
		return -1;
	ret = real(handle);
	if (ret == 0)
		self_rescan();
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See linker_object.h. */
#include <dlfcn.h>
#include "base/linker_object.h"

#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void *)0)
#endif

extern void *dlsym(void *, const char *) __attribute__((weak));

static int (*find_object)(void *pc, struct found_object *result);

bool linker_object_begin(void)
{
	if (dlsym && !find_object)
		find_object = (int (*)(void *, struct found_object *))(uintptr_t)dlsym(
			RTLD_DEFAULT, "_dl_find_object");
	return find_object;
}

bool linker_object_at(uint64_t address, struct found_object *o)
{
	return find_object && find_object((void *)(uintptr_t)address, o) == 0 && o->link_map;
}

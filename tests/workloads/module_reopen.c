/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Opens, uses and closes a library and opens it again.  It is then at another address, because
 * something else has taken its place.  Its constructor and destructor call back.  argv[1] is
 * tests/workloads/module.c, built as a library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include "burn.h"

unsigned int module_hook(unsigned int n)
{
	burn(n);
	return n + 1;
}

static NOINLINE unsigned int use(const char *path, void **where)
{
	unsigned int (*work)(unsigned int, unsigned int (*)(unsigned int));
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;
	unsigned int r;

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*where = (void *)map->l_addr;
	*(void **)&work = dlsym(handle, "module_work");
	r = work(3, module_hook);
	dlclose(handle);
	burn(1);
	return r;
}

int main(int argc, char **argv)
{
	void *first, *again;
	unsigned int sum = 0;

	if (argc < 2)
		return 1;
	sum += use(argv[1], &first);
	mmap(first, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	sum += use(argv[1], &again);
	printf("%u %s\n", sum, first == again ? "same place" : "elsewhere");
	return first == again;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Opens a library with a large thread-local block (module_tls.c) and enters it in two threads.
 * tests/oracle replaces malloc by an instrumented one (preload_malloc.c), which the access to the
 * block then calls.
 */
#include <dlfcn.h>
#include <pthread.h>
#include "burn.h"

typedef unsigned int fn(unsigned int n);

static NOINLINE unsigned int enter(fn *f, unsigned int n)
{
	return f(n) + 1;
}

static void *thread(void *f)
{
	burnt += enter((fn *)f, 5);
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	fn *f = library ? (fn *)dlsym(library, "module_tls") : NULL;
	pthread_t id;

	if (!f || pthread_create(&id, NULL, thread, (void *)f) || pthread_join(id, NULL))
		return 1;
	printf("%u\n", enter(f, 3));
	return 0;
}

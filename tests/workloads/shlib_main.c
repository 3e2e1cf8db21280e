/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls a shared library that it is linked with and one that it opens at run time (argv[1]).
 * All three call each other, so the context crosses modules.
 */
#include <dlfcn.h>
#include "burn.h"
#include "shlib.h"

static unsigned int (*opened_work)(unsigned int, shlib_callback *);

static NOINLINE unsigned int leaf_callback(unsigned int n)
{
	burn(60);
	return n * 3;
}

static NOINLINE unsigned int callback(unsigned int n)
{
	unsigned int r;

	burn(40);
	r = n % 8 ? n : opened_work(n / 2, leaf_callback);
	burn(1);
	return r + 1;
}

static NOINLINE unsigned int drive(unsigned int n)
{
	unsigned int r = shlib_work(n, callback);

	burn(1);
	return r;
}

int main(int argc, char **argv)
{
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	unsigned int sum = 0;

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&opened_work = dlsym(handle, "shlib_work");
	if (!opened_work)
		return 1;
	for (unsigned int i = 0; i < ROUNDS(400000, 31); i++)
		sum += drive(i % 30);
	printf("%u\n", sum);
	return 0;
}

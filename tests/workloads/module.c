/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The library of module_reopen.c. */
#include "burn.h"

extern unsigned int module_hook(unsigned int n) __attribute__((weak));
unsigned int module_work(unsigned int n, unsigned int (*callback)(unsigned int));

static NOINLINE unsigned int hook(unsigned int n)
{
	return module_hook ? module_hook(n) : n;
}

__attribute__((constructor)) static void loaded(void)
{
	burnt += hook(2);
}

__attribute__((destructor)) static void unloaded(void)
{
	burnt += hook(3);
}

/* Interposable: through the PLT. */
unsigned int module_work(unsigned int n, unsigned int (*callback)(unsigned int))
{
	unsigned int r = callback(n);

	if (n)
		r += module_work(n - 1, callback);
	burn(1);
	return r;
}

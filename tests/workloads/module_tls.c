/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The library of module_tls_main.c. Its thread-local block is too large for the room that the C
 * library has at hand, so each thread's first access allocates it.
 */
#include "burn.h"

unsigned int module_tls(unsigned int n);

static __thread volatile unsigned int block[16384];

static NOINLINE unsigned int touch(unsigned int n)
{
	block[n] += n;
	burn(1);
	return block[n] + 1;
}

unsigned int module_tls(unsigned int n)
{
	return touch(n) + touch(n + 1);
}

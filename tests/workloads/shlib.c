/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The library of shlib_main.c.  Calls back into its caller and into its own table. */
#include "burn.h"
#include "shlib.h"

static NOINLINE unsigned int inner(unsigned int n, shlib_callback *callback)
{
	burn(80);
	if (n % 4 == 0)
		return callback(n);
	return n;
}

unsigned int shlib_work(unsigned int depth, shlib_callback *callback)
{
	unsigned int r = inner(depth, callback);

	if (depth == 0)
		return r;
	r += shlib_work(depth - 1, callback);
	burn(5);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Works in deep recursion: samples need the encoding stack, and the runtime memory for it. */
#ifndef PCCE_HOSTILE_DEEP_H
#define PCCE_HOSTILE_DEEP_H

#include "burn.h"

static volatile int zero;

static NOINLINE int deep(int depth)
{
	int result = depth ? deep(depth - 1) + 1 : zero;

	if (depth % 64 == 0)
		burn(100);
	return result;
}

#endif

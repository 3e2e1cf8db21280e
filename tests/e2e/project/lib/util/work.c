/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "util.h"

static volatile unsigned int sink;

static __attribute__((noinline)) unsigned int grind(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		sink += i;
	return sink & 1 ? n : n + 1;
}

unsigned int util_work(unsigned int n)
{
	unsigned int r = grind(n * 3) & 1;

	return r + n;
}

/* Nobody calls this one: --gc-sections takes it away, and its call sites with it. */
unsigned int util_unused(unsigned int n)
{
	unsigned int r = grind(n);

	return r + util_work(n);
}

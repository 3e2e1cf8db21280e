/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "util.h"

void util_each(unsigned int n, void (*f)(unsigned int, void *), void *arg)
{
	for (unsigned int i = 0; i < n; i++)
		f(i, arg);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Defines a shared library with thread-local variables of all models. */
#include <stdlib.h>
#include <string.h>

__thread int counter;
static __thread int local_a, local_b;

int library_count(int (*f)(int), int n)
{
	counter += f(n);
	local_a += n;
	local_b += local_a;
	return counter + local_b;
}

char *library_text(const char *s)
{
	size_t n = strlen(s);
	char *p = malloc(n + 2);

	memcpy(p, s, n);
	memcpy(p + n, "!", 2);
	return p;
}

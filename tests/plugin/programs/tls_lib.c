/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A shared library with thread-local variables of all models. */
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
	char *p = malloc(strlen(s) + 2);

	strcpy(p, s);
	return strcat(p, "!");
}

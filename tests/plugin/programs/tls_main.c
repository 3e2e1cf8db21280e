/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>

int library_count(int (*f)(int), int n);
char *library_text(const char *s);
extern __thread int counter;

static int triple(int x)
{
	return x * 3;
}

int main(void)
{
	int total = 0;

	for (int i = 0; i < 10; i++)
		total += library_count(triple, i);
	printf("%d %d %s\n", total, counter, library_text("text"));
	return 0;
}

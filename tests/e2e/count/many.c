/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * 40 threads recurse.  "many" prints how often each function was entered.  "many deeper" lets each
 * thread recurse deeper than the one before.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
__attribute__((noinline)) static unsigned int leaf(unsigned int n)
{
	__asm__ volatile("");
	return n;
}
__attribute__((noinline)) static unsigned int f(unsigned int n)
{
	unsigned int r = leaf(n);
	__asm__ volatile("");
	return n ? f(n - 1) + r : 0;
}
static void *body(void *arg)
{
	for (unsigned int i = 0; i < 5000; i++)
		f((i + (unsigned int)(uintptr_t)arg) % 20 + (uintptr_t)arg);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[40];
	(void)argv;
	for (uintptr_t i = 0; i < 40; i++)
		pthread_create(&t[i], NULL, body, (void *)(argc > 1 ? i : 0));
	for (int i = 0; i < 40; i++)
		pthread_join(t[i], NULL);
	if (argc == 1)
		printf("f %u\nleaf %u\nbody 40\n", 40 * 5000 / 20 * 210, 40 * 5000 / 20 * 210);
	return 0;
}

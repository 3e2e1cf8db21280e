/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls gates_lib.cc, from two threads and from a signal handler too. An argument is a library to
 * open, which may define the same functions but comes too late for the first one.
 */
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include "burn.h"
#include "gates.h"

static volatile unsigned int handled;

static NOINLINE unsigned int callback(unsigned int n)
{
	return gate_leaf(n) + gate_tail(n);
}

static void handler(int)
{
	handled = handled + gate_step(1) + gate_even(3);
}

static void *thread(void *)
{
	static unsigned int r;

	for (unsigned int i = 0; i < ROUNDS(30000, 2); i++)
		r = r * 31 + gate_all(i, callback);
	return &r;
}

int main(int argc, char **argv)
{
	unsigned int r = 0;
	pthread_t t;
	void *result;

	signal(SIGUSR1, handler);
	for (unsigned int i = 0; i < ROUNDS(60000, 4); i++) {
		r = r * 31 + gate_all(i, callback);
		if (i == 1)
			raise(SIGUSR1);
		if (i == 2 && argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL))
			return 1;
	}
	pthread_create(&t, nullptr, thread, nullptr);
	pthread_join(t, &result);
	printf("%u %u %u\n", r, (unsigned int)handled, *(unsigned int *)result);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ends the main thread by pthread_exit() deep in its calls, over clean-up handlers and past entries
 * of the encoding stack.  Destructors of its data and exit handlers run after that, in separate
 * contexts.
 *
 * flags: -O2 -pthread
 * sampled: no
 */
#include <pthread.h>
#include "burn.h"

static pthread_key_t key;
static unsigned int sum;

static NOINLINE unsigned int work(unsigned int n)
{
	burn(n);
	return n ? work(n - 1) + burnt % 2 : 1;
}

static unsigned int (*volatile pointer)(unsigned int) = work;

static void destroy(void *p)
{
	sum += work(2) + pointer(3) + (p != NULL);
}

static void at_exit(void)
{
	sum += pointer(4);
	printf("%u\n", sum != 0);
}

static void cleanup(void *p)
{
	sum += work(3) + (p != NULL);
}

static NOINLINE unsigned int leave(unsigned int n)
{
	unsigned int result;

	if (!n)
		pthread_exit(NULL);
	result = leave(n - 1) + burnt % 3;
	burn(n);
	return result;
}

static unsigned int (*volatile leave_by)(unsigned int) = leave;

static NOINLINE unsigned int covered(unsigned int n)
{
	unsigned int result;

	pthread_cleanup_push(cleanup, &sum);
	result = leave_by(n);
	pthread_cleanup_pop(1);
	return result;
}

static void *thread(void *p)
{
	return pointer(2) ? p : NULL;
}

int main(void)
{
	pthread_t t;

	if (pthread_key_create(&key, destroy) || pthread_setspecific(key, &sum) || atexit(at_exit))
		return 1;
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
		return 1;
	return (int)covered(40);
}

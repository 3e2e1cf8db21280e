/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Runs cleanup attributes while a thread is cancelled (-fexceptions in C). */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "page.h"

static volatile int ran;

static void cleanup(int *id)
{
	page_expect(*id, 32, "cleanup");
	ran++;
}

__attribute__((noinline)) static void wait_for_ever(int n)
{
	page_damage();
	if (n)
		wait_for_ever(n - 1);
	for (;;)
		pause();
}

__attribute__((noinline)) static void holder(int id)
{
	int held __attribute__((cleanup(cleanup))) = id;

	wait_for_ever(3);
}

static void *thread(void *arg)
{
	page_set(77, 32);
	holder(77);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, NULL);
	usleep(20000);
	pthread_cancel(t);
	pthread_join(t, NULL);
	if (ran != 1)
		return 1;
	puts("cleaned up");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * missed THREADS CALLS
 *
 * Raises syscalls:sys_enter_getppid CALLS times in each of several threads, which share fewer CPUs,
 * and prints the number of these events. A kernel that preempts BPF programs leaves some of them
 * out.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *call(void *calls)
{
	for (long i = *(long *)calls; i > 0; i--)
		syscall(SYS_getppid);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc == 3 ? atol(argv[1]) : 0, calls = argc == 3 ? atol(argv[2]) : 0;
	pthread_t t[64];

	if (threads < 1 || threads > 64)
		return 2;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, call, &calls))
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", threads * calls);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * handlers KIND REPORT: crashes while other threads work or wait, or with a handler that was
 * installed before the one that reports.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pcce.h>

#define NOINLINE __attribute__((noinline, noclone))

extern __thread struct pcce_page pcce_page;
static sigjmp_buf back;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int n_ready;
static volatile unsigned long work;
static int *volatile nothing = (int *)8;

static void say_and_leave(int sig, siginfo_t *info, void *context)
{
	char text[100];
	int n = snprintf(text, sizeof(text), "signal %d, code %d, address %p\n", sig, info->si_code,
			 info->si_code > 0 ? info->si_addr : NULL);

	(void)context;
	if (write(1, text, (size_t)n) < 0)
		_exit(2);
	_exit(42);
}

static void jump_back(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static NOINLINE void fail(void)
{
	*nothing = 1;
	__asm__ volatile("");
}

/* ---- threads --------------------------------------------------------------------- */

static NOINLINE void spin(void)
{
	__atomic_add_fetch(&n_ready, 1, __ATOMIC_RELAXED);
	for (;;)
		work++;
}

static NOINLINE void read_nothing(void)
{
	int ends[2];
	char c;

	if (pipe(ends))
		_exit(3);
	__atomic_add_fetch(&n_ready, 1, __ATOMIC_RELAXED);
	while (read(ends[0], &c, 1) != 1)
		continue;
	work++;
}

static NOINLINE void wait_for_lock(void)
{
	__atomic_add_fetch(&n_ready, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&lock);
	work++;
}

/* Nothing but a few signals of the C library can arrive. */
static NOINLINE void block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	spin();
	work++;
}

/* Not even those. */
static NOINLINE void block_signals_of_libc(void)
{
	const unsigned long all = ~0UL;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	spin();
	work++;
}

static NOINLINE unsigned long fall(unsigned long depth)
{
	volatile char room[2000];

	room[depth % sizeof(room)] = 1;
	return fall(depth + 1) + (unsigned long)room[1];
}

static void overflow(void)
{
	work = fall(0);
}

static void *begin(void *function)
{
	((void (*)(void))function)();
	__asm__ volatile("");
	return NULL;
}

static void start(void (*function)(void))
{
	pthread_t t;

	if (pthread_create(&t, NULL, begin, (void *)function))
		_exit(4);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	struct sigaction action = {.sa_sigaction = say_and_leave, .sa_flags = SA_SIGINFO};

	if (!strcmp(kind, "earlier") || !strcmp(kind, "abort") || !strcmp(kind, "trap")) {
		sigaction(SIGSEGV, &action, NULL);
		sigaction(SIGABRT, &action, NULL);
		sigaction(SIGTRAP, &action, NULL);
	} else if (!strcmp(kind, "recover")) {
		signal(SIGSEGV, jump_back);
	}
	if (argc > 2 && pcce_crash_report(argv[2]))
		return 5;
	if (!strcmp(kind, "abort")) {
		abort();
	} else if (!strcmp(kind, "trap")) {
		__asm__ volatile("int3");
	} else if (!strcmp(kind, "recover")) {
		for (int i = 0; i < 3; i++)
			if (!sigsetjmp(back, 1))
				fail();
		puts("recovered");
		return 0;
	} else if (!strcmp(kind, "threads")) {
		pthread_mutex_lock(&lock);
		start(spin);
		start(read_nothing);
		start(wait_for_lock);
		start(block_all);
		while (n_ready < 4)
			usleep(1000);
		usleep(50000);
	} else if (!strcmp(kind, "deaf")) {
		start(block_signals_of_libc);
		while (n_ready < 1)
			usleep(1000);
	} else if (!strcmp(kind, "both")) {
		for (int i = 0; i < 8; i++)
			start(fail);
	} else if (!strcmp(kind, "overflow")) {
		start(overflow);
		pause();
	} else if (!strcmp(kind, "page")) {
		memset((char *)&pcce_page + 16, 0x41, 360);
	} else if (!strcmp(kind, "record")) {
		memset((char *)&pcce_page + 16, 0x41, 800);
	}
	fail();
	return 1;
}

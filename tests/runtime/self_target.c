// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * self_target WHAT [MS]
 *
 * Runs a program with hand-written pushes, which test_self samples.  Each WHAT is one function
 * below.  Exit status 0 says that the program itself found nothing wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <pcce/abi.h>
#include "self_target.h"

extern __thread struct pcce_page pcce_page;
static long spin_ms = 300;

static void push(uint64_t site)
{
	register uint64_t r11 __asm__("r11") = site;

	__asm__ volatile("subq $128, %%rsp\n call __pcce_push\n addq $128, %%rsp"
			 : "+r"(r11)::"r10", "memory", "cc");
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

__attribute__((noinline)) static void spin(void)
{
	uint64_t end = cpu_ns() + (uint64_t)spin_ms * 1000000;

	while (cpu_ns() < end)
		for (volatile int i = 0; i < 2000000; i++)
			;
}

/* A context that the test knows. */
static void enter(unsigned int depth)
{
	for (unsigned int i = 0; i < depth; i++) {
		pcce_page.id = TARGET_ID(i);
		push(TARGET_SITE(i));
	}
	pcce_page.id = TARGET_TOP;
}

static void *spinner(void *depth)
{
	enter((unsigned int)(uintptr_t)depth);
	spin();
	return NULL;
}

static int threads(unsigned int depth)
{
	pthread_t t;

	pthread_create(&t, NULL, spinner, (void *)(uintptr_t)depth);
	spinner((void *)(uintptr_t)depth);
	pthread_join(t, NULL);
	return 0;
}

static int masked(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	return threads(2);
}

static int killed(void)
{
	spinner((void *)3);
	kill(getpid(), SIGKILL);
	return 1;
}

static int forks(void)
{
	int status, bad = 0;
	pid_t pid = fork();

	enter(2);
	spin();
	if (pid == 0)
		_exit(0);
	bad |= waitpid(pid, &status, 0) != pid || status != 0;
	return bad;
}

static int execs(char **argv)
{
	char *count = argv[2];
	long n = strtol(count, NULL, 10);
	char next[24];

	spin_ms = 2;
	spin();
	if (n == 0)
		return 0;
	snprintf(next, sizeof(next), "%ld", n - 1);
	argv[2] = next;
	execv("/proc/self/exe", argv);
	return 1;
}

static int closes(void)
{
	for (int fd = 0; fd < 256; fd++)
		close(fd);
	if (mkdir("/tmp/pcce-test-root", 0700) == 0 || errno == EEXIST)
		if (chroot("/tmp/pcce-test-root") != 0)
			errno = 0;
	/* Also drops privileges, where that is possible. */
	if (setgid(65534) != 0 || setuid(65534) != 0)
		errno = 0;
	enter(2);
	spin();
	if (fork() == 0) {
		spin();
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static int loads(void)
{
	uint64_t end = 0;
	double (*f)(double, double) = NULL;
	volatile double x = 1.1;
	void *lib;

	enter(2);
	spin();
	lib = dlopen("libm.so.6", RTLD_NOW);
	if (lib)
		f = (double (*)(double, double))(uintptr_t)dlsym(lib, "pow");
	if (!f)
		return 1;
	end = cpu_ns() + (uint64_t)spin_ms * 1000000;
	while (cpu_ns() < end)
		for (int i = 0; i < 200000; i++)
			x = f(x + 1, 0.3);
	return 0;
}

static volatile sig_atomic_t got;

static void on_resize(int signo)
{
	(void)signo;
	got++;
}

/* The sampling signal is SIGWINCH. */
static int takes(void)
{
	struct sigaction action = {.sa_handler = on_resize}, old;

	enter(2);
	spin();
	if (sigaction(SIGWINCH, &action, &old) != 0 || old.sa_handler != SIG_DFL)
		return 1;
	spin();
	if (got)
		return 2; /* a signal of the sampler came to the program's handler */
	raise(SIGWINCH);
	return got == 1 ? 0 : 3;
}

static int fallback(void)
{
	/* errno, and what a handler must not disturb */
	uint64_t end = cpu_ns() + (uint64_t)spin_ms * 1000000;
	double x = 1;

	enter(2);
	while (cpu_ns() < end) {
		errno = 4711;
		for (int i = 0; i < 50000; i++)
			x = x * 1.0000001 + 0.5 / x;
		if (errno != 4711)
			return 1;
	}
	return x > 0 ? 0 : 2;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Makes frames of many functions of libc, with callbacks, so that the unwinder must look up much.
 */
static int sorts(void)
{
	uint64_t end = cpu_ns() + (uint64_t)spin_ms * 1000000;
	static int v[20000];

	while (cpu_ns() < end) {
		for (int i = 0; i < 20000; i++)
			v[i] = (int)(random() & 0xffffff);
		qsort(v, 20000, sizeof(v[0]), compare);
	}
	return 0;
}

__attribute__((noinline)) static int recurse(int n)
{
	if (n == 0) {
		spin();
		return 0;
	}
	return recurse(n - 1) + 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 2)
		spin_ms = strtol(argv[2], NULL, 10);
	if (strcmp(what, "threads") == 0)
		return threads(5);
	if (strcmp(what, "deep") == 0)
		return threads(TARGET_DEEP);
	if (strcmp(what, "masked") == 0)
		return masked();
	if (strcmp(what, "killed") == 0)
		return killed();
	if (strcmp(what, "forks") == 0)
		return forks();
	if (strcmp(what, "execs") == 0)
		return execs(argv);
	if (strcmp(what, "closes") == 0)
		return closes();
	if (strcmp(what, "loads") == 0)
		return loads();
	if (strcmp(what, "takes") == 0)
		return takes();
	if (strcmp(what, "errno") == 0)
		return fallback();
	if (strcmp(what, "sorts") == 0)
		return sorts();
	if (strcmp(what, "recurse") == 0)
		return recurse(50) == 50 ? 0 : 1;
	return 99;
}

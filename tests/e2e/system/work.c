/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * work MS [nap|daemon FILE|orphan FILE]: uses MS ms of CPU time in main;outer;inner;spin.
 *
 *   nap     sleeps for MS ms in main;outer;nap instead
 *   daemon  does the same in a process that has forked twice, and creates FILE at the end
 *   orphan  works, and leaves a child that sleeps until FILE exists
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 1000000; i++)
		sum += (unsigned long)i;
}

__attribute__((noinline)) static void inner(double ms)
{
	while (cpu_ms() < ms)
		spin();
	sum++;
}

__attribute__((noinline)) static void nap(double ms)
{
	usleep((useconds_t)(ms * 1000));
	sum++;
}

__attribute__((noinline)) static void outer(double ms, int naps)
{
	if (naps)
		nap(ms);
	else
		inner(ms);
	sum++;
}

static void be_daemon(double ms, const char *file)
{
	if (fork()) {
		wait(NULL);
		return;
	}
	setsid();
	if (fork())
		_exit(0);
	outer(ms, 0);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	_exit(0);
}

static void leave_orphan(double ms, const char *file)
{
	if (fork()) {
		outer(ms, 0);
		return;
	}
	while (access(file, F_OK))
		usleep(10000);
	_exit(0);
}

int main(int argc, char **argv)
{
	double ms = argc > 1 ? atof(argv[1]) : 100;
	const char *how = argc > 2 ? argv[2] : "";

	if (!strcmp(how, "daemon"))
		be_daemon(ms, argv[3]);
	else if (!strcmp(how, "orphan"))
		leave_orphan(ms, argv[3]);
	else
		outer(ms, !strcmp(how, "nap"));
	return 0;
}

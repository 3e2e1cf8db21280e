/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Creates processes: vfork and exec of this program itself, vfork whose child ends at once,
 * posix_spawn, system, fork out of a handler and out of a thread.
 *
 * sampled: no
 * flags: -O2 -pthread
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "burn.h"

extern char **environ;

static NOINLINE int reap(pid_t pid)
{
	int status = -1;

	if (pid > 0)
		waitpid(pid, &status, 0);
	burn(1);
	return WEXITSTATUS(status);
}

static NOINLINE void leave(int status)
{
	_exit(status);
}

static NOINLINE int by_vfork(char *self, unsigned int depth)
{
	char *argv[] = {self, "child", NULL};
	pid_t pid;

	if (depth) {
		int r = by_vfork(self, depth - 1);

		burn(1);
		return r;
	}
	pid = vfork();
	if (pid == 0) {
		execv(self, argv);
		_exit(1);
	}
	return reap(pid);
}

static NOINLINE int by_vfork_only(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		leave(4);
	return reap(pid);
}

static NOINLINE int by_spawn(char *self)
{
	char *argv[] = {self, "child", NULL};
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		return -1;
	return reap(pid);
}

static NOINLINE int by_fork(int status)
{
	pid_t pid = fork();

	if (pid == 0) {
		burn(2);
		leave(status);
	}
	return reap(pid);
}

static volatile int from_handler;

static void on_signal(int sig)
{
	(void)sig;
	from_handler = by_fork(6);
}

static void *thread(void *arg)
{
	*(int *)arg = by_fork(7);
	return NULL;
}

int main(int argc, char **argv)
{
	int from_thread = 0, a, b, c;
	pthread_t t;

	if (argc > 1) {
		burn(2);
		return 3;
	}
	signal(SIGUSR1, on_signal);
	a = by_vfork(argv[0], 2);
	b = by_vfork_only();
	c = by_spawn(argv[0]);
	raise(SIGUSR1);
	if (pthread_create(&t, NULL, thread, &from_thread) || pthread_join(t, NULL))
		return 1;
	printf("%d %d %d %d %d\n", a, b, c, from_handler, from_thread);
	return 0;
}

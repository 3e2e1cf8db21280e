/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * own FILE COMMAND...
 *
 * Runs COMMAND, appends its CPU time in seconds as one line to FILE, and exits with its status.
 * The time is user and system time of COMMAND and of the children that it waited for.  A profiler
 * runs `own` with the program as COMMAND, which separates the program's time from the profiler's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;
	FILE *f;

	if (argc < 3) {
		fprintf(stderr, "usage: own FILE COMMAND...\n");
		return 2;
	}
	pid = vfork();
	if (pid == 0) {
		execv(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 126;
	f = fopen(argv[1], "a");
	if (!f) {
		fprintf(stderr, "own: cannot write '%s': %s\n", argv[1], strerror(errno));
		return 126;
	}
	fprintf(f, "%ld.%06ld\n",
		(long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000000,
		(long)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) % 1000000);
	fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

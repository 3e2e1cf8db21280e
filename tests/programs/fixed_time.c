/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Preloaded into a program that is counted several times: time() and clock() always return the
 * same, so that what depends on them is the same in each run. It leaves the recorder alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int is_recorder(void)
{
	return !strncmp(program_invocation_short_name, "pcce-", 5);
}

time_t time(time_t *to)
{
	time_t now = is_recorder() ? syscall(SYS_time, NULL) : 1000000000;

	if (to)
		*to = now;
	return now;
}

clock_t clock(void)
{
	struct timespec now = {0};

	if (is_recorder())
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

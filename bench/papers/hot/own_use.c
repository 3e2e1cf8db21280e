/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Linked into a program that is measured: when it exits, it appends its CPU time in seconds and its
 * peak memory in KiB to the file that BENCH_USE names. A profiler's process is not part of it.
 * getrusage() would also have the memory of the process before it executed the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static long peak_memory(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long peak = 0;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld", &peak);
	if (f)
		fclose(f);
	return peak;
}

__attribute__((destructor)) static void note_use(void)
{
	const char *path = getenv("BENCH_USE");
	FILE *f = path ? fopen(path, "a") : NULL;
	struct rusage u;

	if (!f)
		return;
	if (!getrusage(RUSAGE_SELF, &u))
		fprintf(f, "%.6f %ld\n",
			u.ru_utime.tv_sec + u.ru_stime.tv_sec +
				(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
			peak_memory());
	fclose(f);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See clock.h. */
#include <cpuid.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "count/clock.h"

#define MEASURED_NS 20000000
#define TRIES 8

/* Linux lists the counter if it is the same on all CPUs, whatever they do. */
static bool is_even(void)
{
	FILE *in =
		fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
	unsigned int a, b, c, d = 0;
	char line[256] = "";
	bool listed = !in;

	if (in && fgets(line, sizeof(line), in))
		for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"))
			listed |= !strcmp(word, "tsc");
	if (in)
		fclose(in);
	return listed && __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

struct moment {
	uint64_t cycles, ns;
};

/* Reads both clocks at one time: the reading that took least of several. */
static struct moment read_both(void)
{
	struct moment best = {0};
	uint64_t took = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t after = __builtin_ia32_rdtsc();

		if (after - before >= took)
			continue;
		took = after - before;
		best = (struct moment){before + took / 2, ns};
	}
	return best;
}

int count_clock_measure(uint64_t *cycle, struct error *why)
{
	const struct timespec pause = {.tv_nsec = MEASURED_NS};
	struct moment first, last;

	if (!is_even())
		return error_set(why, -ENOTSUP,
				 "the time stamp counter of this machine does not run evenly, and "
				 "calls cannot be timed without it; use another machine");
	first = read_both();
	nanosleep(&pause, NULL);
	last = read_both();
	*cycle = (uint64_t)(((unsigned __int128)(last.ns - first.ns) << 32) /
			    (last.cycles - first.cycles));
	return 0;
}

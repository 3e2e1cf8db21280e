/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stall N MILLISECONDS
 *
 * Makes N nested calls, then reads the clock in a loop without a pause for MILLISECONDS.  The calls
 * come from three sites in random order, which the encoding cannot compress.
 *
 * A gap of more than THRESHOLD is an interruption, mostly a sample.  Prints the number of gaps,
 * their median and 90th percentile in ns, and their share of the time in percent.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define THRESHOLD 700 /* ns */
#define TIME_LIMIT 60 /* s */
#define MAX_GAPS (1u << 20)

static uint32_t gaps[MAX_GAPS]; /* in ticks of the time stamp counter */
static unsigned int n_gaps;
static uint64_t stalled, ticks;
static double ns_per_tick;
static volatile unsigned int sink;

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void calibrate_tsc(void)
{
	uint64_t t = clock_ns(), c = __rdtsc(), t2;

	while ((t2 = clock_ns()) < t + 5000000)
		;
	ns_per_tick = (double)(t2 - t) / (double)(__rdtsc() - c);
}

static __attribute__((noinline)) void watch_clock(unsigned int milliseconds)
{
	uint64_t start = __rdtsc(), last = start,
		 end = start + (uint64_t)(milliseconds * 1e6 / ns_per_tick);
	uint64_t threshold = (uint64_t)(THRESHOLD / ns_per_tick), t;

	do {
		t = __rdtsc();
		if (t - last > threshold) {
			if (n_gaps < MAX_GAPS)
				gaps[n_gaps++] =
					t - last < UINT32_MAX ? (uint32_t)(t - last) : UINT32_MAX;
			stalled += t - last;
			t = __rdtsc();
		}
		last = t;
	} while (t < end);
	ticks = t - start;
}

static __attribute__((noinline)) void nest_calls(unsigned int n, unsigned int state,
						 unsigned int milliseconds)
{
	state = state * 1664525u + 1013904223u;
	if (n == 0)
		watch_clock(milliseconds);
	else if (state >> 30 == 0)
		nest_calls(n - 1, state, milliseconds);
	else if (state >> 31)
		nest_calls(n - 1, state + 1, milliseconds);
	else
		nest_calls(n - 1, state + 2, milliseconds);
	sink++;
}

static int compare_gaps(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: stall N MILLISECONDS\n");
		return 2;
	}
	/* If a sample takes longer than the time to the next one, the program makes no progress. */
	alarm(TIME_LIMIT);
	calibrate_tsc();
	nest_calls((unsigned int)atoi(argv[1]), 1, (unsigned int)atoi(argv[2]));
	qsort(gaps, n_gaps, sizeof(gaps[0]), compare_gaps);
	printf("%u %.0f %.0f %.2f\n", n_gaps, n_gaps ? gaps[n_gaps / 2] * ns_per_tick : 0,
	       n_gaps ? gaps[n_gaps * 9ull / 10] * ns_per_tick : 0,
	       100.0 * (double)stalled / (double)ticks);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints the frequency of this machine's time stamp counter in kHz, over 100 ms of CLOCK_MONOTONIC.
 *
 * The emulator hands the counter to its guest.  A guest's kernel would find the frequency by
 * comparison with an emulated timer.  If the emulator does not get its CPU at that moment, the
 * guest's clock stays several times too fast.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

/* Takes the one of some readings with the least time in between. */
static void read_both(uint64_t *ns, uint64_t *tsc)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		struct timespec t;
		uint64_t before = __rdtsc(), after;

		clock_gettime(CLOCK_MONOTONIC, &t);
		after = __rdtsc();
		if (after - before >= least)
			continue;
		least = after - before;
		*ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
		*tsc = before + least / 2;
	}
}

int main(void)
{
	const struct timespec pause = {0, 100000000};
	uint64_t ns[2] = {0}, tsc[2] = {0};

	read_both(&ns[0], &tsc[0]);
	nanosleep(&pause, NULL);
	read_both(&ns[1], &tsc[1]);
	printf("%.0f\n", (double)(tsc[1] - tsc[0]) * 1e6 / (double)(ns[1] - ns[0]));
	return 0;
}

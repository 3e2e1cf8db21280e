/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See progress.h. Only one call in EVERY reads the clock. */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/progress.h"

#define EVERY 1024
#define FIRST_NS 1000000000ULL
#define NEXT_NS 100000000ULL

static struct {
	const char *program;
	uint64_t due; /* when the line is next written; 0: at once */
	unsigned int calls;
	bool shown;
} state;

void progress_enable(const char *program)
{
	if (isatty(STDERR_FILENO))
		state.program = program;
	state.due = clock_ns(CLOCK_MONOTONIC) + FIRST_NS;
}

static void show_line(const char *what, uint64_t done, uint64_t all)
{
	uint64_t t = clock_ns(CLOCK_MONOTONIC);

	if (t < state.due)
		return;
	state.due = t + NEXT_NS;
	state.shown = true;
	fprintf(stderr, "\r%s: %s", state.program, what);
	if (all)
		fprintf(stderr, ", %.0f%%",
			100.0 * (double)(done < all ? done : all) / (double)all);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void progress(const char *what, uint64_t done, uint64_t all)
{
	if (state.program && state.calls++ % EVERY == 0)
		show_line(what, done, all);
}

void progress_phase(const char *what)
{
	if (state.shown)
		state.due = 0;
	if (state.program)
		show_line(what, 0, 0);
}

void progress_end(void)
{
	if (state.shown)
		fputs("\r\033[K", stderr);
	state.shown = false;
	state.calls = 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs a recorder whose stream ends in a live profile, and shows the profile at each turn. The view
 * waits for keys, and lets the recorder work meanwhile. In batch mode, the recorder works from one
 * turn to the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "profile/live.h"
#include "record/say.h"
#include "top/top.h"
#include "view/view.h"

#define STEP_MS 100
#define LEAST_PERCENT 0.5 /* of what people read in batch mode */

struct top {
	const struct top_options *o;
	struct live_profile *live; /* until the stream is freed */
	struct selection select;
	struct view_live view;
	int (*step)(void *recorder, int ms);
	void *recorder;
	uint64_t due;	  /* the next turn */
	uint64_t cpu, at; /* CPU time of this process at the last turn, and when that was */
	double own;	  /* percent of a CPU that this process used before the last turn */
	uint64_t turns;	  /* so far */
	bool over;	  /* nothing is sampled any more */
	bool last;	  /* ... and the last turn is due */
	int result;	  /* of the recorder */
};

static uint64_t own_cpu_time(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Lets the recorder work for a moment. Returns whether a turn is due. */
static bool step_recorder(struct top *t)
{
	int r;

	if (t->over) {
		poll(NULL, 0, STEP_MS);
		r = t->last;
		t->last = false;
		return r;
	}
	r = t->step(t->recorder, STEP_MS);
	if (r) {
		t->over = t->last = true;
		t->result = r < 0 ? r : 0;
	}
	return clock_ns(CLOCK_MONOTONIC) >= t->due;
}

static int idle_step(void *ctx)
{
	return step_recorder(ctx);
}

static void print_rate(const struct profile *p, char *to, size_t size)
{
	char buffer[128];
	const char *event = text_clean(p->event, buffer, sizeof(buffer));

	if (p->frequency)
		snprintf(to, size, "%s %llu Hz", event, (unsigned long long)p->frequency);
	else
		snprintf(to, size, "%s every %llu", event, (unsigned long long)p->period);
}

static void print_head(const struct top *t, char *to, size_t size)
{
	const struct profile *p = live_profile_get(t->live);
	struct live_counts n = live_profile_counts(t->live);
	char rate[192];

	print_rate(p, rate, sizeof(rate));
	snprintf(to, size,
		 "%s%s · own CPU %.1f%% · %llu lost · %llu taken · %llu of the last %.1f s",
		 t->over ? "ended · " : "", rate, t->own, (unsigned long long)n.lost,
		 (unsigned long long)n.samples, (unsigned long long)p->all_samples,
		 (double)live_profile_span(t->live) / 1e9);
}

static int take_live_turn(void *ctx)
{
	struct top *t = ctx;
	int r = live_profile_turn(t->live);
	uint64_t now = clock_ns(CLOCK_MONOTONIC), cpu = own_cpu_time();

	if (now > t->at)
		t->own = 100.0 * (double)(cpu - t->cpu) / (double)(now - t->at);
	t->cpu = cpu;
	t->at = now;
	t->due = now + t->o->delay;
	t->turns++;
	print_head(t, t->view.head, sizeof(t->view.head));
	return r;
}

/* ---- batch mode ------------------------------------------------------------------ */

/* 0, or -errno if it cannot be written. */
static int print_turn(const struct top *t)
{
	struct profile *p = live_profile_get(t->live);
	const struct format *format = t->o->format;
	const struct format_options options = {
		.min_percent = format->short_names ? LEAST_PERCENT : format->min_percent,
		.quiet = true};
	int r;

	symbol_table_show_full(p->names, !format->short_names);
	if (format->short_names)
		printf("%s%s\n", t->turns > 1 ? "\n" : "", t->view.head);
	r = format->print(p, &options, stdout);
	errno = 0;
	if (!r && (fflush(stdout) || ferror(stdout)))
		r = errno ? -errno : -EIO;
	return r;
}

static int run_batch(struct top *t)
{
	int r = 0;

	while (!r && !t->over && (!t->o->turns || t->turns < t->o->turns)) {
		while (!step_recorder(t) && !t->over)
			;
		if (t->result)
			return t->result;
		r = take_live_turn(t);
		if (r)
			return r;
		r = print_turn(t);
		if (r) {
			say("cannot write to standard output: %s", strerror(-r));
			return 1;
		}
	}
	return r;
}

/* ---- both modes ------------------------------------------------------------------ */

/* Warnings would be written over the view. Returns a file that takes them meanwhile; -1: none. */
static int hold_messages(int *standard_error)
{
	int held = isatty(STDERR_FILENO) ? memfd_create("messages", MFD_CLOEXEC) : -1;

	*standard_error = held < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*standard_error >= 0)
		dup2(held, STDERR_FILENO);
	return held;
}

static void release_messages(int held, int standard_error)
{
	char buffer[4096];
	ssize_t n;

	if (standard_error >= 0) {
		dup2(standard_error, STDERR_FILENO);
		close(standard_error);
		lseek(held, 0, SEEK_SET);
		while ((n = read(held, buffer, sizeof(buffer))) > 0)
			fwrite(buffer, 1, (size_t)n, stderr);
	}
	if (held >= 0)
		close(held);
}

static int run_view(struct top *t)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	const struct view_options options = {
		.input = "running processes",
		.select = &t->select,
		.print = {.min_percent = -1},
		.colors = !(no && *no),
		.live = &t->view,
	};
	int standard_error, held, r = live_profile_turn(t->live);

	if (!r) {
		print_head(t, t->view.head, sizeof(t->view.head));
		held = hold_messages(&standard_error);
		r = view_run(live_profile_get(t->live), &options);
		release_messages(held, standard_error);
	}
	if (r == -ENOTTY) {
		say("cannot show the view: no suitable terminal (TERM=%s); use --batch for text",
		    term ? term : "");
		return 1;
	}
	return r ? r : t->result;
}

static int run_top(void *ctx, int (*step)(void *recorder, int ms), void *recorder)
{
	struct top *t = ctx;

	t->step = step;
	t->recorder = recorder;
	t->at = clock_ns(CLOCK_MONOTONIC);
	t->cpu = own_cpu_time();
	t->due = t->at + t->o->delay;
	return t->o->batch ? run_batch(t) : run_view(t);
}

static struct stream *end_in_profile(void *ctx, struct record_modules *m)
{
	struct top *t = ctx;

	t->live = live_profile_new(m, t->o->window, &t->select);
	return t->live ? live_profile_stage(t->live) : NULL;
}

int top_run(const struct top_options *o, struct record_options *record)
{
	struct top t = {.o = o};
	const struct record_live live = {.end = end_in_profile, .run = run_top, .ctx = &t};
	bool complete;

	t.view = (struct view_live){.idle = idle_step, .turn = take_live_turn, .ctx = &t};
	say_as = "pcce-top";
	/* On a busy machine, it would take many seconds to begin. It may not be permitted. */
	setpriority(PRIO_PROCESS, 0, -10);
	record->live = &live;
	return record_run(record, &complete);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The trace event format, as JSON: for Perfetto and for chrome://tracing.  A timeline
 * of each thread, drawn from its samples: a function spans the time between the first of successive
 * samples that have it in the same place of their contexts, and the first that has not.
 *
 * Where a thread has no sample for more than GAP intervals, it did not run (or samples were
 * lost), and what it was doing ends one interval after the last sample.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include "tools/lib/format.h"
#include "tools/lib/json_text.h"
#include "tools/lib/paths.h"
#include "tools/lib/texts.h"

#define GAP 2

struct writer {
	const struct profile *p;
	struct functions functions;
	struct paths paths;
	struct texts names;	   /* by function: up to the time */
	uint32_t *first, *samples; /* by thread */
	uint64_t interval;	   /* ns */
	char thread[64];	   /* the fields that name it */
	uint32_t *open;		   /* functions, outermost first */
	size_t n_open, capacity;
	unsigned int max_depth;
	FILE *out;
};

static void make_name(void *ctx, uint32_t function, FILE *out)
{
	const struct writer *w = ctx;
	const struct function *f = &w->functions.list[function];

	fputs(",\n{\"ph\":\"B\",\"name\":", out);
	json_text(names_string(w->p->names, f->name), out);
	fputs(",\"cat\":", out);
	json_text(f->flags & CCT_KERNEL	     ? "kernel"
		  : f->kind == FRAME_FOREIGN ? "foreign"
		  : f->module == UINT32_MAX  ? "remark"
					     : names_base(w->p->names, f->module),
		  out);
}

/* Microseconds since the recording's first sample. */
static void put_time(const struct writer *w, uint64_t time)
{
	uint64_t ns = time - w->p->first;
	char fraction[8];

	fputs_unlocked(",\"ts\":", w->out);
	json_number(ns / 1000, w->out);
	snprintf(fraction, sizeof(fraction), ".%03u", (unsigned int)(ns % 1000));
	fputs_unlocked(fraction, w->out);
	fputs_unlocked(w->thread, w->out);
}

/* Ends all but the n outermost. */
static void end_from(struct writer *w, size_t n, uint64_t time)
{
	for (; w->n_open > n; w->n_open--) {
		fputs_unlocked(",\n{\"ph\":\"E\"", w->out);
		put_time(w, time);
	}
}

static int change_to(struct writer *w, uint32_t node, uint64_t time)
{
	size_t n, same = 0;

	if (paths_get(&w->paths, node))
		return -ENOMEM;
	n = w->max_depth && w->paths.n > w->max_depth ? w->max_depth : w->paths.n;
	while (same < n && same < w->n_open && w->open[same] == w->paths.list[same])
		same++;
	end_from(w, same, time);
	if (n > w->capacity) {
		uint32_t *more = reallocarray(w->open, n * 2, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->open = more;
		w->capacity = n * 2;
	}
	for (; w->n_open < n; w->n_open++) {
		w->open[w->n_open] = w->paths.list[w->n_open];
		if (texts_put(&w->names, w->open[w->n_open], w->out))
			return -ENOMEM;
		put_time(w, time);
	}
	return 0;
}

static void put_name(struct writer *w, const char *what, const struct thread *t, uint32_t name)
{
	if (!name)
		return;
	fprintf(w->out, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what, t->pid,
		t->tid);
	json_text(names_string(w->p->names, name), w->out);
	fputs("}}", w->out);
}

static int put_thread(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);
	const uint32_t *samples = w->samples + w->first[thread];
	size_t n = w->first[thread + 1] - w->first[thread];
	uint64_t last = 0;
	int r = 0;

	put_name(w, "process_name", t, t->process);
	put_name(w, "thread_name", t, t->name);
	snprintf(w->thread, sizeof(w->thread), ",\"pid\":%u,\"tid\":%u}", t->pid, t->tid);
	for (size_t i = 0; i < n && !r; i++) {
		struct profile_sample s = profile_sample(w->p, samples[i]);

		if (i && s.time - last > GAP * w->interval)
			end_from(w, 0, last + w->interval);
		r = change_to(w, s.node, s.time);
		last = s.time;
	}
	end_from(w, 0, last + w->interval);
	return r;
}

/* Of samples in a thread that runs all the time; for events that come as they like, on an average. */
static uint64_t interval_of(const struct profile *p)
{
	struct format_unit unit = format_unit(p);
	uint64_t span = p->last - p->first;

	if (unit.clock)
		return unit.scale;
	if (p->frequency)
		return 1000000000 / p->frequency;
	return profile_samples(p) ? span * threads_count(p->threads) / profile_samples(p) + 1 : 1;
}

static int put_all(struct writer *w)
{
	int r = 0;

	fputs("{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"creator\":\"pcce " PCCE_VERSION "\",\"command\":",
	      w->out);
	json_text(w->p->command, w->out);
	fputs(",\"event\":", w->out);
	json_text(w->p->event, w->out);
	/* An event that means nothing, so that all others begin with a comma. */
	fputs("},\n\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"trace\",\"pid\":0,\"tid\":0,\"args\":{}}", w->out);
	for (uint32_t i = 0; i < threads_count(w->p->threads) && !r; i++)
		r = put_thread(w, i);
	fputs("\n]}\n", w->out);
	return r;
}

int format_trace(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .interval = interval_of(p), .max_depth = o->max_depth, .out = out};
	int r = functions_new(p, &p->tree, &w.functions);

	paths_init(&w.paths, &p->tree, &w.functions);
	texts_init(&w.names, make_name, &w);
	if (!r)
		r = profile_by_thread(p, &w.first, &w.samples);
	if (!r)
		r = put_all(&w);
	free(w.open);
	free(w.first);
	free(w.samples);
	texts_free(&w.names);
	paths_free(&w.paths);
	functions_free(&w.functions);
	return r;
}

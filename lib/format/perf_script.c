/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the text format of `perf script`, which many tools read. Samples are in the order of time,
 * each with its frames below it, innermost first.
 *
 *   demo   100/101       12.000345:          1 cpu-clock:
 *   	            1234 eval (/usr/bin/demo)
 *
 * Each sample comes with its whole stack, so the text of millions of samples takes very long to
 * write and to read. If there are more than max_rows samples, only one of each group of successive
 * samples of an event in a thread is written. It has the weight of the group as its period, the
 * number before the event.
 *
 * Addresses are link-time addresses. An inlined frame has the address of the frame that it was
 * inlined into, and "inlined" in place of a file.
 *
 * A remark about recursion that is left out is in parentheses, as perf once wrote the names of
 * processes among frames. stackcollapse-perf.pl, inferno and the Firefox profiler skip such names,
 * so they make no frame of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "format/format.h"
#include "profile/location_stacks.h"
#include "format/text_cache.h"

#define MAX_STACKS 1000000 /* the default of --max-rows */

/* A group of successive samples of an event in a thread, of which one is written. */
struct group {
	size_t seen, chosen; /* chosen: an index for profile_sample() */
	uint64_t weight;
};

struct writer {
	const struct profile *p;
	struct locations locations;
	struct unrolled_path stacks;
	struct text_cache frames; /* by location */
	struct text_cache threads;
	size_t step;	      /* samples in a group */
	struct group *groups; /* by thread and event */
	char events[RECORDING_ACCOUNTS][256];
	FILE *out;
};

/* Writes a text without line feeds, so that readers can parse the line. Names may contain blanks
 * and parentheses. */
static void put_clean_text(const char *s, FILE *out)
{
	char buffer[4096];

	fputs(text_clean(s, buffer, sizeof(buffer)), out);
}

static void make_perf_frame(void *ctx, uint32_t number, FILE *out)
{
	const struct writer *w = ctx;
	const struct location *l = &w->locations.list[number];
	const struct symbol_table *names = w->p->names;

	for (uint32_t i = 0; i < l->n; i++) {
		const struct location_function *f =
			&w->locations.functions[w->locations.lines[l->first + i].function];
		const char *path =
			f->module == UINT32_MAX ? "unknown" : symbol_table_path(names, f->module);

		fprintf(out, "\t%16llx ", (unsigned long long)l->place.vaddr);
		put_clean_text(symbol_table_string(names, f->name), out);
		fputs(" (", out);
		put_clean_text(i + 1 < l->n	       ? "inlined"
			       : f->flags & CCT_KERNEL ? "[kernel.kallsyms]"
						       : path,
			       out);
		fputs(")\n", out);
	}
}

static void make_perf_thread(void *ctx, uint32_t number, FILE *out)
{
	const struct writer *w = ctx;
	const struct thread *t = threads_get(w->p->threads, number);
	const char *name = symbol_table_string(w->p->names, t->name);

	put_clean_text(*name ? name : ":-1", out);
	fprintf(out, " %5u/%-5u ", t->pid, t->tid);
}

/* The name of a remark begins and ends with a bracket, which become parentheses. */
static void perf_put_remark(const struct writer *w, uint32_t location)
{
	const struct location_line *line = &w->locations.lines[w->locations.list[location].first];
	const char *name =
		symbol_table_string(w->p->names, w->locations.functions[line->function].name);

	fprintf(w->out, "\t%16x (%.*s) (unknown)\n", 0, (int)strlen(name) - 2, name + 1);
}

static int perf_put_sample(struct writer *w, const struct profile_sample *s)
{
	uint64_t us = s->time / 1000;
	char text[64];

	if (location_stacks_get(&w->stacks, s->node, s->place) ||
	    text_cache_put(&w->threads, s->thread, w->out))
		return -ENOMEM;
	snprintf(text, sizeof(text), "%5llu.%06llu: %10llu ", (unsigned long long)(us / 1000000),
		 (unsigned long long)(us % 1000000), (unsigned long long)s->weight);
	fputs_unlocked(text, w->out);
	put_clean_text(*w->events[s->event] ? w->events[s->event] : "event", w->out);
	fputs_unlocked(": \n", w->out);
	for (size_t i = w->stacks.n; i-- > 0;) {
		if (!w->stacks.nodes[i])
			perf_put_remark(w, w->stacks.frames[i]);
		else if (text_cache_put(&w->frames, w->stacks.frames[i], w->out))
			return -ENOMEM;
	}
	putc_unlocked('\n', w->out);
	return 0;
}

static int perf_put_group(struct writer *w, struct group *g)
{
	struct profile_sample s = profile_sample(w->p, g->chosen);

	s.weight = g->weight;
	g->weight = 0;
	return perf_put_sample(w, &s);
}

/* Adds sample i to its group, and writes the group if it is full. The position of the chosen sample
 * varies from group to group. A constant one could correlate with a period of the program. */
static int perf_add_sample(struct writer *w, size_t i)
{
	struct profile_sample s = profile_sample(w->p, i);
	struct group *g = &w->groups[s.thread * w->p->n_events + s.event];
	size_t place = g->seen % w->step, number = g->seen / w->step;

	if (!place || place == (number * 2654435761u >> 8) % w->step)
		g->chosen = i;
	g->weight += s.weight;
	g->seen++;
	return place + 1 < w->step ? 0 : perf_put_group(w, g);
}

static int perf_put_all(struct writer *w, uint64_t max)
{
	size_t n = profile_samples(w->p), n_groups = threads_count(w->p->threads) * w->p->n_events;
	int r = 0;

	max = max == FORMAT_ROWS ? MAX_STACKS : max ? max : n;
	w->step = n ? n / max + (n % max != 0) : 1;
	w->groups = calloc(n_groups + 1, sizeof(*w->groups));
	if (!w->groups)
		return -ENOMEM;
	for (size_t i = 0; i < n && !r; i++)
		r = perf_add_sample(w, i);
	for (size_t i = 0; i < n_groups && !r; i++)
		if (w->groups[i].seen % w->step)
			r = perf_put_group(w, &w->groups[i]);
	free(w->groups);
	return r;
}

int format_perf(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .out = out};
	int r = locations_new(p, &w.locations);

	for (uint32_t i = 0; i < p->n_events; i++)
		profile_event(p, i, w.events[i], sizeof(w.events[i]));
	location_stacks_init(&w.stacks, p, &w.locations);
	text_cache_init(&w.frames, make_perf_frame, &w);
	text_cache_init(&w.threads, make_perf_thread, &w);
	r = r ? r : perf_put_all(&w, o->max_rows);
	if (!r && w.step > 1)
		format_remark(o,
			      "%zu samples are too many for perf-script: the output has one of "
			      "%zu, with the weight of all as its period; write all with "
			      "--max-rows=0, or select a part with --time or --tid",
			      profile_samples(p), w.step);
	text_cache_free(&w.frames);
	text_cache_free(&w.threads);
	unrolled_path_free(&w.stacks);
	locations_free(&w.locations);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The text of `perf script`, which many tools read: each sample in the order of time, with its frames
 * beneath, innermost first.
 *
 *   demo   100/101       12.000345:          1 cpu-clock:
 *   	            1234 eval (/usr/bin/demo)
 *
 * Addresses are link-time ones.  A frame that the compiler inlined has no address of its own, and "inlined" for its
 * file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/format.h"
#include "tools/lib/stacks.h"
#include "tools/lib/texts.h"

struct writer {
	const struct profile *p;
	struct locations locations;
	struct stacks stacks;
	struct texts frames; /* by location */
	struct texts threads;
	const char *event;
	FILE *out;
};

/* A line that its readers can take apart: no line feeds; names may have blanks and parentheses. */
static void put_clean(const char *s, FILE *out)
{
	char buffer[4096];

	fputs(format_clean(s, buffer, sizeof(buffer)), out);
}

static void make_frame(void *ctx, uint32_t number, FILE *out)
{
	const struct writer *w = ctx;
	const struct location *l = &w->locations.list[number];
	const struct names *names = w->p->names;

	for (uint32_t i = 0; i < l->n; i++) {
		const struct location_function *f = &w->locations.functions[w->locations.lines[l->first + i].function];
		const char *path = f->module == UINT32_MAX ? "unknown" : names_path(names, f->module);

		fprintf(out, "\t%16llx ", (unsigned long long)l->place.vaddr);
		put_clean(names_string(names, f->name), out);
		fputs(" (", out);
		put_clean(i + 1 < l->n ? "inlined" : f->flags & CCT_KERNEL ? "[kernel.kallsyms]" : path, out);
		fputs(")\n", out);
	}
}

static void make_thread(void *ctx, uint32_t number, FILE *out)
{
	const struct writer *w = ctx;
	const struct thread *t = threads_get(w->p->threads, number);
	const char *name = names_string(w->p->names, t->name);

	put_clean(*name ? name : ":-1", out);
	fprintf(out, " %5u/%-5u ", t->pid, t->tid);
}

static int put_sample(struct writer *w, const struct profile_sample *s)
{
	uint64_t us = s->time / 1000;
	char text[64];

	if (stacks_get(&w->stacks, s->node, s->place) || texts_put(&w->threads, s->thread, w->out))
		return -ENOMEM;
	snprintf(text, sizeof(text), "%5llu.%06llu: %10llu ", (unsigned long long)(us / 1000000),
		 (unsigned long long)(us % 1000000), (unsigned long long)s->weight);
	fputs_unlocked(text, w->out);
	fputs_unlocked(w->event, w->out);
	fputs_unlocked(": \n", w->out);
	for (size_t i = w->stacks.n; i-- > 0;)
		if (texts_put(&w->frames, w->stacks.frames[i], w->out))
			return -ENOMEM;
	putc_unlocked('\n', w->out);
	return 0;
}

int format_perf(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .event = *p->event ? p->event : "event", .out = out};
	int r = locations_new(p, &w.locations);

	(void)o;
	stacks_init(&w.stacks, p, &w.locations);
	texts_init(&w.frames, make_frame, &w);
	texts_init(&w.threads, make_thread, &w);
	for (size_t i = 0; i < profile_samples(p) && !r; i++) {
		struct profile_sample s = profile_sample(p, i);

		r = put_sample(&w, &s);
	}
	texts_free(&w.frames);
	texts_free(&w.threads);
	stacks_free(&w.stacks);
	locations_free(&w.locations);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * JSON lines: an object a line, for jq, databases and scripts.  The first line is about the
 * recording; then one for each context in each thread:
 *
 *   {"samples": 3, "weight": 3, "pid": 100, "tid": 101, "comm": "demo",
 *    "stack": ["main", "parse", "eval"], "calls": ["main.c:12", "parse.c:31"]}
 *
 * stack begins with the outermost function, and calls[i] is where stack[i] calls stack[i + 1] or has it
 * inlined; "" where that is not known.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include "tools/lib/format.h"
#include "tools/lib/json_text.h"
#include "tools/lib/paths.h"
#include "tools/lib/texts.h"

struct sum {
	uint64_t samples, weight;
};

struct writer {
	const struct profile *p;
	struct functions functions;
	struct paths paths;
	struct texts names, calls; /* by function; by number of a key */
	uint32_t *first, *samples; /* by thread */
	struct sum *sums;	   /* of a thread, by node */
	FILE *out;
};

static void make_name(void *ctx, uint32_t function, FILE *out)
{
	const struct writer *w = ctx;

	json_text(names_string(w->p->names, w->functions.list[function].name), out);
}

static void make_call(void *ctx, uint32_t key, FILE *out)
{
	const struct writer *w = ctx;
	const struct cct_key *k = cct_key(&w->p->tree, key);
	char line[4096] = "";

	if (k->file)
		snprintf(line, sizeof(line), "%s:%u", names_string(w->p->names, k->file), k->line);
	json_text(line, out);
}

static void put_field(const char *name, uint64_t value, FILE *out)
{
	fputs_unlocked(name, out);
	json_number(value, out);
}

static int put_stack(struct writer *w, uint32_t node)
{
	const struct paths *paths = &w->paths;
	int r = paths_get(&w->paths, node);

	fputs_unlocked(",\"stack\":[", w->out);
	for (size_t i = 0; i < paths->n && !r; i++) {
		if (i)
			putc_unlocked(',', w->out);
		r = texts_put(&w->names, paths->list[i], w->out);
	}
	fputs_unlocked("],\"calls\":[", w->out);
	for (size_t i = 1; i < paths->n && !r; i++) {
		if (i > 1)
			putc_unlocked(',', w->out);
		/* A remark has the root's key, which tells nothing. */
		r = texts_put(&w->calls, w->p->tree.nodes[paths->nodes[i]].key->number, w->out);
	}
	fputs_unlocked("]}\n", w->out);
	return r;
}

static int put_thread(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);
	uint32_t *samples = w->samples + w->first[thread], n = w->first[thread + 1] - w->first[thread], nodes = 0;
	int r = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct profile_sample s = profile_sample(w->p, samples[i]);

		if (!w->sums[s.node].samples)
			samples[nodes++] = s.node;
		w->sums[s.node].samples += s.samples;
		w->sums[s.node].weight += s.weight;
	}
	for (uint32_t i = 0; i < nodes && !r; i++) {
		struct sum *sum = &w->sums[samples[i]];

		put_field("{\"samples\":", sum->samples, w->out);
		put_field(",\"weight\":", sum->weight, w->out);
		put_field(",\"pid\":", t->pid, w->out);
		put_field(",\"tid\":", t->tid, w->out);
		fputs_unlocked(",\"comm\":", w->out);
		json_text(names_string(w->p->names, t->name), w->out);
		r = put_stack(w, samples[i]);
		*sum = (struct sum){0};
	}
	return r;
}

static void put_head(const struct profile *p, FILE *out)
{
	fputs("{\"format\":\"pcce-jsonl\",\"version\":1,\"command\":", out);
	json_text(p->command, out);
	fputs(",\"event\":", out);
	json_text(p->event, out);
	put_field(",\"frequency\":", p->frequency, out);
	put_field(",\"period\":", p->period, out);
	fputs(",\"host\":", out);
	json_text(p->host, out);
	put_field(",\"samples\":", p->stats.samples, out);
	put_field(",\"exact\":", p->stats.exact, out);
	put_field(",\"truncated\":", p->stats.truncated, out);
	put_field(",\"undecodable\":", p->stats.undecodable, out);
	put_field(",\"outside\":", p->stats.outside, out);
	put_field(",\"lost\":", p->stats.lost, out);
	fputs("}\n", out);
}

int format_jsonl(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .out = out};
	int r = functions_new(p, &p->tree, &w.functions);

	(void)o;
	paths_init(&w.paths, &p->tree, &w.functions);
	texts_init(&w.names, make_name, &w);
	texts_init(&w.calls, make_call, &w);
	w.sums = calloc(p->tree.n, sizeof(*w.sums));
	if (!w.sums)
		r = -ENOMEM;
	if (!r)
		r = profile_by_thread(p, &w.first, &w.samples);
	put_head(p, out);
	for (uint32_t i = 0; i < threads_count(p->threads) && !r; i++)
		r = put_thread(&w, i);
	free(w.first);
	free(w.samples);
	free(w.sums);
	texts_free(&w.names);
	texts_free(&w.calls);
	paths_free(&w.paths);
	functions_free(&w.functions);
	return r;
}

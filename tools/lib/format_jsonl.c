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
#include "tools/lib/listing.h"
#include "tools/lib/paths.h"
#include "tools/lib/texts.h"

struct writer {
	const struct profile *p;
	struct functions functions;
	struct paths paths;
	struct texts names, calls; /* by function; by number of a key */
	struct listing stack, called;
	struct thread_sums sums;
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

	listing_cut(&w->stack, paths->same);
	for (size_t i = paths->same; i < paths->n && !r; i++)
		r = listing_add(&w->stack, &w->names, paths->list[i]);
	/* The first frame has no call. A remark has the root's key, which tells nothing. */
	listing_cut(&w->called, paths->same ? paths->same - 1 : 0);
	for (size_t i = paths->same ? paths->same : 1; i < paths->n && !r; i++)
		r = listing_add(&w->called, &w->calls, w->p->tree.nodes[paths->nodes[i]].key->number);
	fputs_unlocked(",\"stack\":[", w->out);
	listing_put(&w->stack, w->out);
	fputs_unlocked("],\"calls\":[", w->out);
	listing_put(&w->called, w->out);
	fputs_unlocked("]}\n", w->out);
	return r;
}

static int put_thread(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);
	int r = 0;

	char *origin = format_origin(w->p, t);

	if (!origin)
		return -ENOMEM;
	thread_sums_go(&w->sums, thread);
	for (size_t i = 0; i < w->sums.n && !r; i++) {
		uint32_t node = w->sums.nodes[i];
		const struct sum *sum = &w->sums.sum[node];

		put_field("{\"samples\":", sum->samples, w->out);
		put_field(",\"weight\":", sum->weight, w->out);
		put_field(",\"pid\":", t->pid, w->out);
		put_field(",\"tid\":", t->tid, w->out);
		fputs_unlocked(",\"comm\":", w->out);
		json_text(names_string(w->p->names, t->name), w->out);
		if (*origin) {
			fputs_unlocked(",\"origin\":", w->out);
			json_text(origin, w->out);
		}
		r = put_stack(w, node);
	}
	free(origin);
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
	if (!r)
		r = thread_sums_new(p, &w.sums);
	put_head(p, out);
	for (uint32_t i = 0; i < threads_count(p->threads) && !r; i++)
		r = put_thread(&w, i);
	thread_sums_free(&w.sums);
	listing_free(&w.stack);
	listing_free(&w.called);
	texts_free(&w.names);
	texts_free(&w.calls);
	paths_free(&w.paths);
	functions_free(&w.functions);
	return r;
}

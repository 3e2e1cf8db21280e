/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes JSON lines, one object a line, for jq, databases and scripts. The first line describes the
 * recording. Each further line is one context, with the samples of each thread in it:
 *
 *   {"samples": 3, "weight": 3, "stack": ["main", "parse", "eval"],
 *    "calls": ["main.c:12", "parse.c:31"],
 *    "threads": [{"pid": 100, "tid": 101, "comm": "demo", "samples": 3, "weight": 3}]}
 *
 * (without these line breaks). If the recording is a summary, "error" is what may be missing from
 * the weight. stack begins with the outermost function. calls[i] is the place
 * where stack[i] calls or inlines stack[i + 1], or "" if it is unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include "format/format.h"
#include "base/json_writer.h"
#include "format/frame_list.h"
#include "base/array.h"
#include "profile/function_paths.h"
#include "format/text_cache.h"

struct writer {
	const struct profile *p;
	struct functions functions;
	struct unrolled_path paths;
	struct text_cache names, calls, threads; /* by function; by key number; by thread */
	struct frame_list stack, called;
	uint32_t node;		 /* the context whose line is written next */
	struct profile_sum *sum; /* its sums by thread */
	uint32_t *present;	 /* threads that have samples in it */
	size_t n_present;
	bool no_memory;
	FILE *out;
};

static void make_json_name(void *ctx, uint32_t function, FILE *out)
{
	const struct writer *w = ctx;

	json_write_text(symbol_table_string(w->p->names, w->functions.list[function].name), out);
}

static void make_json_call(void *ctx, uint32_t key, FILE *out)
{
	const struct writer *w = ctx;
	const struct cct_key *k = cct_key(&w->p->tree, key);
	char line[4096] = "";

	if (k->file)
		snprintf(line, sizeof(line), "%s:%u", symbol_table_string(w->p->names, k->file),
			 k->line);
	json_write_text(line, out);
}

static void jsonl_put_field(const char *name, uint64_t value, FILE *out)
{
	fputs_unlocked(name, out);
	json_write_number(value, out);
}

static void make_json_thread(void *ctx, uint32_t thread, FILE *out)
{
	struct writer *w = ctx;
	const struct thread *t = threads_get(w->p->threads, thread);
	char *origin = format_origin(w->p, t);

	w->no_memory |= !origin;
	jsonl_put_field("{\"pid\":", t->pid, out);
	jsonl_put_field(",\"tid\":", t->tid, out);
	fputs(",\"comm\":", out);
	json_write_text(symbol_table_string(w->p->names, t->name), out);
	if (origin && *origin) {
		fputs(",\"origin\":", out);
		json_write_text(origin, out);
	}
	free(origin);
}

static int jsonl_put_stack(struct writer *w)
{
	const struct unrolled_path *paths = &w->paths;
	int r = unrolled_path_to(&w->paths, w->node);

	frame_list_cut(&w->stack, paths->same);
	for (size_t i = paths->same; i < paths->n && !r; i++)
		r = frame_list_add(&w->stack, &w->names, paths->frames[i]);
	/* The first frame has no call. A remark has the root's key, which has no place. */
	frame_list_cut(&w->called, paths->same ? paths->same - 1 : 0);
	for (size_t i = paths->same ? paths->same : 1; i < paths->n && !r; i++)
		r = frame_list_add(&w->called, &w->calls,
				   w->p->tree.nodes[paths->nodes[i]].key->number);
	fputs_unlocked(",\"stack\":[", w->out);
	frame_list_put(&w->stack, w->out);
	fputs_unlocked("],\"calls\":[", w->out);
	frame_list_put(&w->called, w->out);
	return r;
}

static int jsonl_put_threads(struct writer *w)
{
	int r = 0;

	qsort(w->present, w->n_present, sizeof(*w->present), compare_u32);
	for (size_t i = 0; i < w->n_present && !r; i++) {
		struct profile_sum *sum = &w->sum[w->present[i]];

		if (i)
			putc_unlocked(',', w->out);
		r = text_cache_put(&w->threads, w->present[i], w->out);
		jsonl_put_field(",\"samples\":", sum->samples, w->out);
		jsonl_put_field(",\"weight\":", sum->weight, w->out);
		putc_unlocked('}', w->out);
		*sum = (struct profile_sum){0};
	}
	w->n_present = 0;
	return r ? r : w->no_memory ? -ENOMEM : 0;
}

static int jsonl_put_context(struct writer *w)
{
	const struct cct_node *node = &w->p->tree.nodes[w->node];
	int r;

	if (!w->n_present)
		return 0;
	jsonl_put_field("{\"samples\":", node->samples, w->out);
	jsonl_put_field(",\"weight\":", node->self, w->out);
	if (w->p->summary.phi > 0)
		jsonl_put_field(",\"error\":", hot_tree_error(&w->p->hot, node), w->out);
	r = jsonl_put_stack(w);
	fputs_unlocked("],\"threads\":[", w->out);
	if (!r)
		r = jsonl_put_threads(w);
	fputs_unlocked("]}\n", w->out);
	return r;
}

static int jsonl_add_cell(void *ctx, const struct profile_cell *cell)
{
	struct writer *w = ctx;
	struct profile_sum *sum = &w->sum[cell->thread];
	int r = cell->node == w->node ? 0 : jsonl_put_context(w);

	w->node = cell->node;
	if (!sum->samples)
		w->present[w->n_present++] = cell->thread;
	sum->samples += cell->samples;
	sum->weight += cell->weight;
	return r;
}

static void jsonl_put_head(const struct profile *p, FILE *out)
{
	fputs("{\"format\":\"pcce-jsonl\",\"version\":2,\"command\":", out);
	json_write_text(p->command, out);
	fputs(",\"event\":", out);
	json_write_text(p->event, out);
	jsonl_put_field(",\"frequency\":", p->frequency, out);
	jsonl_put_field(",\"period\":", p->period, out);
	fputs(",\"host\":", out);
	json_write_text(p->host, out);
	jsonl_put_field(",\"samples\":", p->stats.samples, out);
	jsonl_put_field(",\"exact\":", p->stats.exact, out);
	jsonl_put_field(",\"truncated\":", p->stats.truncated, out);
	jsonl_put_field(",\"undecodable\":", p->stats.undecodable, out);
	jsonl_put_field(",\"outside\":", p->stats.outside, out);
	jsonl_put_field(",\"lost\":", p->stats.lost, out);
	fputs("}\n", out);
}

int format_jsonl(const struct profile *p, const struct format_options *o, FILE *out)
{
	size_t n = threads_count(p->threads) + 1;
	struct writer w = {.p = p,
			   .sum = calloc(n, sizeof(*w.sum)),
			   .present = calloc(n, sizeof(*w.present)),
			   .out = out};
	int r = functions_new(p, &p->tree, &w.functions);

	(void)o;
	function_paths_init(&w.paths, &p->tree, &w.functions);
	text_cache_init(&w.names, make_json_name, &w);
	text_cache_init(&w.calls, make_json_call, &w);
	text_cache_init(&w.threads, make_json_thread, &w);
	if (!w.sum || !w.present)
		r = -ENOMEM;
	jsonl_put_head(p, out);
	if (!r)
		r = profile_cells(p, jsonl_add_cell, &w);
	if (!r)
		r = jsonl_put_context(&w);
	free(w.sum);
	free(w.present);
	frame_list_free(&w.stack);
	frame_list_free(&w.called);
	text_cache_free(&w.names);
	text_cache_free(&w.calls);
	text_cache_free(&w.threads);
	unrolled_path_free(&w.paths);
	functions_free(&w.functions);
	return r;
}

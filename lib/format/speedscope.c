/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the file format of speedscope (www.speedscope.app): a "sampled" profile for each thread.
 * Frames are functions.
 *
 * speedscope's views over time need the samples in order, but it makes objects of the frames of
 * each sample: up to 600 bytes a frame, and a tab has 4 GB. So samples that have up to ORDERED
 * frames are written in the order of time; equal ones in a row count once. If there are more, equal
 * ones of a thread are added up, and the name of the profile says so.
 */
#include <errno.h>
#include <stdlib.h>
#include "format/format.h"
#include "base/json_writer.h"
#include "profile/function_paths.h"

#define ORDERED 5000000 /* the default of --max-rows */

struct writer {
	const struct profile *p;
	struct functions functions;
	struct unrolled_path paths;
	struct format_unit unit;
	bool ordered;
	struct thread_sums sums;
	uint32_t heaviest; /* thread */
	uint64_t most;	   /* its weight */
	FILE *out;
};

/* Iterates over runs of samples with equal context in a thread or, if not ordered, over the
 * contexts of a thread. */
struct run {
	size_t at, end; /* next in samples */
	uint32_t node;
	uint64_t weight;
};

static bool next_run(const struct writer *w, struct run *run)
{
	if (run->at == run->end)
		return false;
	if (!w->ordered) {
		run->node = w->sums.nodes[run->at++];
		run->weight = w->sums.sum[run->node].weight;
		return true;
	}
	run->node = profile_sample(w->p, w->sums.samples[run->at]).node;
	for (run->weight = 0; run->at < run->end; run->at++) {
		struct profile_sample s = profile_sample(w->p, w->sums.samples[run->at]);

		if (s.node != run->node)
			break;
		run->weight += s.weight;
	}
	return true;
}

/* Sets `ordered` to whether the samples have at most max frames. 0 or -ENOMEM. */
static int count_frames(struct writer *w, uint64_t max)
{
	uint64_t frames = 0;

	w->ordered = true;
	for (uint32_t t = 0; t < threads_count(w->p->threads) && w->ordered; t++) {
		struct run run = {.at = w->sums.first[t], .end = w->sums.first[t + 1]};

		while (w->ordered && next_run(w, &run)) {
			if (unrolled_path_to(&w->paths, run.node))
				return -ENOMEM;
			frames += w->paths.n;
			w->ordered = frames <= max;
		}
	}
	return 0;
}

static int speedscope_put_stacks(struct writer *w, struct run run, uint64_t *total)
{
	*total = 0;
	for (const char *between = "\n["; next_run(w, &run); between = ",\n[") {
		if (unrolled_path_to(&w->paths, run.node))
			return -ENOMEM;
		fputs_unlocked(between, w->out);
		for (size_t i = 0; i < w->paths.n; i++) {
			if (i)
				putc_unlocked(',', w->out);
			json_write_number(w->paths.frames[i], w->out);
		}
		putc_unlocked(']', w->out);
		*total += run.weight * w->unit.scale;
	}
	return 0;
}

static void speedscope_put_weights(struct writer *w, struct run run)
{
	for (bool first = true; next_run(w, &run); first = false) {
		if (!first)
			putc_unlocked(',', w->out);
		json_write_number(run.weight * w->unit.scale, w->out);
	}
}

static int speedscope_put_thread(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);
	const char *name = symbol_table_string(w->p->names, t->name);
	struct run all = {0};
	uint64_t total;
	char title[512];

	if (w->ordered) {
		all.at = w->sums.first[thread];
		all.end = w->sums.first[thread + 1];
	} else {
		thread_sums_go(&w->sums, thread);
		all.end = w->sums.n;
	}
	snprintf(title, sizeof(title), "%s (%s %u)%s", *name ? name : "thread",
		 t->tid == t->pid ? "process" : "thread", t->tid,
		 w->ordered ? "" : ", not in order of time");
	fprintf(w->out, "%s\n{\"type\":\"sampled\",\"name\":", thread ? "," : "");
	json_write_text(title, w->out);
	fputs(",\"samples\":[", w->out);
	if (speedscope_put_stacks(w, all, &total))
		return -ENOMEM;
	if (total > w->most) {
		w->most = total;
		w->heaviest = thread;
	}
	fputs("],\n\"weights\":[", w->out);
	speedscope_put_weights(w, all);
	fprintf(w->out, "],\n\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu}",
		w->unit.clock	? "nanoseconds"
		: w->unit.bytes ? "bytes"
				: "none",
		(unsigned long long)total);
	return 0;
}

static int speedscope_put_all(struct writer *w)
{
	const struct symbol_table *names = w->p->names;
	int r = 0;

	fputs("{\"$schema\":\"https://www.speedscope.app/"
	      "file-format-schema.json\",\n\"exporter\":\"pcce " PCCE_VERSION "\",\n\"name\":",
	      w->out);
	json_write_text(*w->p->command ? w->p->command : "pcce", w->out);
	fputs(",\n\"profiles\":[", w->out);
	for (uint32_t i = 0; i < threads_count(w->p->threads) && !r; i++)
		r = speedscope_put_thread(w, i);
	fputs("],\n\"shared\":{\"frames\":[", w->out);
	for (size_t i = 0; i < w->functions.n; i++) {
		const struct function *f = &w->functions.list[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", w->out);
		json_write_text(symbol_table_string(names, f->name), w->out);
		if (f->file || f->module != UINT32_MAX) {
			fputs(",\"file\":", w->out);
			json_write_text(f->file ? symbol_table_string(names, f->file)
						: symbol_table_path(names, f->module),
					w->out);
		}
		putc('}', w->out);
	}
	fprintf(w->out, "]},\n\"activeProfileIndex\":%u}\n", w->heaviest);
	return r;
}

int format_speedscope(const struct profile *p, const struct format_options *o, FILE *out)
{
	uint64_t max = o->max_rows == FORMAT_ROWS ? ORDERED : o->max_rows;
	struct writer w = {.p = p, .unit = format_unit(p), .out = out};
	int r = functions_new(p, &p->tree, &w.functions);

	function_paths_init(&w.paths, &p->tree, &w.functions);
	r = r ? r : thread_sums_new(p, &w.sums);
	r = r ? r : count_frames(&w, max ? max : UINT64_MAX);
	r = r ? r : speedscope_put_all(&w);
	if (!r && !w.ordered)
		format_remark(o,
			      "%zu samples have too many frames for speedscope: the output adds "
			      "up equal ones, not in order of time; write all with --max-rows=0, "
			      "or select a part with --time or --tid",
			      profile_samples(p));
	thread_sums_free(&w.sums);
	unrolled_path_free(&w.paths);
	functions_free(&w.functions);
	return r;
}

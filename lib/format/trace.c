/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the trace event format in JSON, for Perfetto and chrome://tracing. It draws a timeline of
 * each thread from its samples. A function's span begins at the first of successive samples that
 * have it at the same place of their contexts. It ends at the first sample that does not.
 *
 * If a thread has no sample for more than GAP intervals, it did not run, or samples were lost. Then
 * its open spans end one interval after the last sample.
 *
 * A sample of a wait was taken when it had ended. So its functions span the time of the wait.
 *
 * Readers of this format hold each span in memory, and fail at some millions. If there would be
 * more than max_spans, time passes in steps. A function spans a step if all samples of the thread
 * in this step have it at the same place of their contexts. The steps are as short as the number of
 * spans allows.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "format/format.h"
#include "base/json_writer.h"
#include "profile/function_paths.h"
#include "format/sample_spans.h"
#include "format/text_cache.h"

#define GAP 2
#define MAX_SPANS 1000000 /* the default of --max-rows */
#define LONGER 4	  /* factor from one tried step to the next */

struct writer {
	const struct profile *p;
	struct functions functions;
	struct unrolled_path paths;
	struct sample_spans times; /* of one thread */
	struct text_cache names;   /* by function: the fields before the time */
	uint32_t *first, *samples; /* by thread */
	uint64_t interval;	   /* ns */
	uint64_t step;		   /* ns; 0: each sample is one step */
	uint32_t *last;		   /* by node, if there are steps: the last node below it */
	size_t spans, max_spans;
	uint64_t begun;	 /* beginning of the last span */
	bool counting;	 /* count spans and write nothing */
	char thread[64]; /* the fields with its ids */
	uint32_t *open;	 /* functions, outermost first */
	size_t n_open, capacity;
	unsigned int max_depth;
	FILE *out;
};

static void make_trace_name(void *ctx, uint32_t function, FILE *out)
{
	const struct writer *w = ctx;
	const struct function *f = &w->functions.list[function];
	const char *name = symbol_table_string(w->p->names, f->name);

	fputs(",\"name\":", out);
	json_write_text(name, out);
	fputs(",\"cat\":", out);
	json_write_text(f->flags & CCT_KERNEL ? sample_spans_is_reason(name) ? "wait" : "kernel"
			: f->kind == DECODE_FRAME_FOREIGN ? "foreign"
			: f->module == UINT32_MAX	  ? "remark"
						  : symbol_table_base(w->p->names, f->module),
			out);
}

/* Writes microseconds since the recording's first sample, and the thread. */
static void trace_put_time(const struct writer *w, uint64_t time)
{
	uint64_t ns = time - w->times.first;
	char fraction[8];

	fputs_unlocked(",\"ts\":", w->out);
	json_write_number(ns / 1000, w->out);
	snprintf(fraction, sizeof(fraction), ".%03u", (unsigned int)(ns % 1000));
	fputs_unlocked(fraction, w->out);
	fputs_unlocked(w->thread, w->out);
}

/*
 * Ends all spans except the n outermost. The format needs no names in end events, but speedscope
 * matches by name. If one call of a function ends when another begins, speedscope reads the
 * beginning first. So spans end a nanosecond before the next ones begin.
 */
static void end_from(struct writer *w, size_t n, uint64_t time)
{
	if (w->counting && w->n_open > n)
		w->n_open = n;
	if (time > w->begun + 1)
		time--;
	for (; w->n_open > n; w->n_open--) {
		fputs_unlocked(",\n{\"ph\":\"E\"", w->out);
		text_cache_put(&w->names, w->open[w->n_open - 1],
			       w->out); /* cached since the span began */
		trace_put_time(w, time);
	}
}

static int change_to(struct writer *w, uint32_t node, uint64_t time)
{
	size_t n, same = 0;

	if (unrolled_path_to(&w->paths, node))
		return -ENOMEM;
	n = w->max_depth && w->paths.n > w->max_depth ? w->max_depth : w->paths.n;
	while (same < n && same < w->n_open && w->open[same] == w->paths.frames[same])
		same++;
	end_from(w, same, time);
	if (array_reserve(&w->open, &w->capacity, n, sizeof(*w->open)))
		return -ENOMEM;
	for (; w->n_open < n; w->n_open++) {
		w->open[w->n_open] = w->paths.frames[w->n_open];
		w->spans++;
		if (w->counting)
			continue;
		fputs_unlocked(",\n{\"ph\":\"B\"", w->out);
		if (text_cache_put(&w->names, w->open[w->n_open], w->out))
			return -ENOMEM;
		trace_put_time(w, time);
		w->begun = time;
	}
	return 0;
}

/* Writes the name of a process or thread. origin: the creation context, or "". */
static void trace_put_name(struct writer *w, const char *what, const struct thread *t,
			   uint32_t name, const char *origin)
{
	if (!name)
		return;
	fprintf(w->out,
		",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what,
		t->pid, t->tid);
	json_write_text(symbol_table_string(w->p->names, name), w->out);
	if (*origin) {
		fputs(",\"origin\":", w->out);
		json_write_text(origin, w->out);
	}
	fputs("}}", w->out);
}

/* Returns the outermost frame of a repeated group that the path to a node leaves before the group's
 * end; 0: none. */
static uint32_t cut_group(const struct writer *w, uint32_t node)
{
	const struct tree_cursor *way = &w->paths.way;
	size_t group = node ? w->paths.group[way->n - 1] : 0;
	const struct cct_key *key = node ? way->tree->nodes[way->nodes[group]].key : NULL;

	return key && key->repeat && group + key->span > way->n ? way->nodes[group] : 0;
}

struct moment {
	uint64_t time;
	uint32_t node;
};

/* Returns the moment at which sample i of a thread begins. */
static struct moment moment(const struct writer *w, const uint32_t *samples, size_t i)
{
	struct profile_moment m = profile_moment(w->p, samples[i]);

	return (struct moment){w->times.list[i].begin,
			       profile_instruction_node(w->p, m.instruction)};
}

/* Finds the node that a thread's samples from *i to the end of their step have in common. Moves *i
 * behind them. */
static int take_step(struct writer *w, const uint32_t *samples, size_t n, size_t *i,
		     struct moment *s)
{
	const struct cct *t = &w->p->tree;
	uint64_t begin, now;
	uint32_t cut;

	*s = moment(w, samples, (*i)++);
	begin = s->time - (w->step ? s->time % w->step : 0);
	while (w->step && *i < n) {
		struct moment next = moment(w, samples, *i);

		now = next.time;
		if (now - begin >= w->step || now - s->time > GAP * w->interval + w->step)
			break;
		while (s->node > next.node || next.node > w->last[s->node])
			s->node = t->nodes[s->node].parent;
		++*i;
	}
	if (!w->step)
		return 0;
	if (unrolled_path_to(&w->paths, s->node))
		return -ENOMEM;
	cut = cut_group(w, s->node);
	if (cut)
		s->node = t->nodes[cut].parent;
	return 0;
}

static int trace_put_samples(struct writer *w, const uint32_t *samples, size_t n)
{
	uint64_t last = 0, wait = 0;
	int r = 0;

	sample_spans_fill(&w->times, samples, n);
	for (size_t i = 0; i < n && !r && !(w->counting && w->spans > w->max_spans);) {
		bool first = !i;
		struct moment s;

		r = take_step(w, samples, n, &i, &s);
		if (!first && s.time - last > GAP * w->interval)
			end_from(w, 0, last + (wait ? 0 : w->interval));
		r = r ? r : change_to(w, s.node, s.time);
		last = w->times.list[i - 1].end;
		wait = last - w->times.list[i - 1].begin;
	}
	end_from(w, 0, last + (wait ? 0 : w->interval));
	return r;
}

static int trace_put_thread(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);

	if (!w->counting) {
		char *origin = format_origin(w->p, t);

		if (!origin)
			return -ENOMEM;
		trace_put_name(w, "process_name", t, t->process, "");
		trace_put_name(w, "thread_name", t, t->name, origin);
		free(origin);
	}
	w->begun = 0;
	snprintf(w->thread, sizeof(w->thread), ",\"pid\":%u,\"tid\":%u}", t->pid, t->tid);
	return trace_put_samples(w, w->samples + w->first[thread],
				 w->first[thread + 1] - w->first[thread]);
}

static int count_spans(struct writer *w)
{
	int r = 0;

	w->spans = 0;
	w->counting = true;
	for (uint32_t i = 0; i < threads_count(w->p->threads) && !r && w->spans <= w->max_spans;
	     i++)
		r = trace_put_thread(w, i);
	w->counting = false;
	return r;
}

/* Finds the last node below each node. Nodes are numbered in preorder. */
static int find_last(struct writer *w)
{
	const struct cct *t = &w->p->tree;

	w->last = malloc(t->n * sizeof(*w->last));
	if (!w->last)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		w->last[i] = i;
	for (size_t i = t->n - 1; i > 0; i--)
		if (w->last[t->nodes[i].parent] < w->last[i])
			w->last[t->nodes[i].parent] = w->last[i];
	return 0;
}

static int choose_step(struct writer *w, const struct format_options *o)
{
	int r;

	w->max_spans = o->max_rows == FORMAT_ROWS ? MAX_SPANS : o->max_rows;
	r = w->max_spans ? count_spans(w) : 0;
	if (r || w->spans <= w->max_spans)
		return r;
	r = find_last(w);
	/* If one step covers the whole time, each thread has at most one context. */
	for (w->step = w->interval; !r; w->step *= LONGER) {
		r = count_spans(w);
		if (w->spans <= w->max_spans || w->step > w->p->last - w->p->first)
			break;
	}
	if (!r)
		format_remark(
			o,
			"%zu samples are too many for a trace: it shows what the samples of a "
			"thread "
			"have in common in each %.6g ms; write all with --max-rows=0, or select a "
			"part with --time or --tid",
			profile_samples(w->p), w->step / 1e6);
	return r;
}

/* Returns the interval of samples in a thread that runs all the time. For other events than clocks
 * it is an average. */
static uint64_t sample_interval(const struct profile *p)
{
	struct format_unit unit = format_unit(p);
	uint64_t span = p->last - p->first;

	if (unit.clock)
		return unit.scale;
	if (p->frequency)
		return 1000000000 / p->frequency;
	return profile_samples(p) ? span * threads_count(p->threads) / profile_samples(p) + 1 : 1;
}

static int trace_put_all(struct writer *w)
{
	int r = 0;

	fputs("{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"creator\":\"pcce " PCCE_VERSION
	      "\",\"command\":",
	      w->out);
	json_write_text(w->p->command, w->out);
	fputs(",\"event\":", w->out);
	json_write_text(w->p->event, w->out);
	/* An event without meaning, so that all others begin with a comma. */
	fputs("},\n\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"trace\",\"pid\":0,\"tid\":0,"
	      "\"args\":{}}",
	      w->out);
	for (uint32_t i = 0; i < threads_count(w->p->threads) && !r; i++)
		r = trace_put_thread(w, i);
	fputs("\n]}\n", w->out);
	return r;
}

int format_trace(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {
		.p = p, .interval = sample_interval(p), .max_depth = o->max_depth, .out = out};
	int r = functions_new(p, &p->tree, &w.functions);

	function_paths_init(&w.paths, &p->tree, &w.functions);
	text_cache_init(&w.names, make_trace_name, &w);
	r = r ? r : sample_spans_new(p, &w.times);
	r = r ? r : profile_by_thread(p, &w.first, &w.samples);
	if (!r)
		r = choose_step(&w, o);
	if (!r)
		r = trace_put_all(&w);
	free(w.open);
	free(w.last);
	free(w.first);
	free(w.samples);
	sample_spans_free(&w.times);
	text_cache_free(&w.names);
	unrolled_path_free(&w.paths);
	functions_free(&w.functions);
	return r;
}

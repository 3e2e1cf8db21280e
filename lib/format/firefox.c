/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the processed profile format of the Firefox profiler (profiler.firefox.com), version 60.
 * In this version all threads share the tables of stacks, frames and functions. Later versions of
 * the profiler read it. Frames have symbols, lines and inlining depths.
 *
 * Tables are objects of columns. A separate loop writes each column.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/format.h"
#include "base/json_writer.h"
#include "base/array.h"
#include "base/id_map.h"
#include "format/sample_spans.h"
#include "profile/stack_table.h"

#define VERSION 60
/* Version of the format that Firefox itself writes. Profiles with version 60 were made from this
 * one. */
#define GECKO_VERSION 33

/* Categories, in the order of meta.categories. */
enum {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_FOREIGN,
	CATEGORY_KERNEL,
	CATEGORY_REMARK,
	CATEGORY_WAIT, /* the first one: the reasons for waits follow */
};

/* The profiler gives a stack the category of its innermost frame. So frames of the kernel that are
 * in waits are others than the same ones without. */
struct waiting_frame {
	uint32_t line, reason; /* reason: index into writer.reasons */
};

struct writer {
	const struct profile *p;
	struct locations locations;
	struct stack_table stacks;
	uint32_t *location_of; /* by line */
	uint32_t *sources;     /* file names, as strings in the symbol table */
	size_t n_sources;
	uint32_t *source_of;	   /* by function; UINT32_MAX: none */
	uint32_t *first, *samples; /* by thread */
	uint32_t *stack;	   /* by instruction */
	struct sample_spans times; /* of one thread */
	const char **reasons;	   /* for waits */
	size_t n_reasons;
	struct waiting_frame *waiting; /* frames that follow those of the lines */
	size_t n_waiting;
	uint32_t *frame; /* by stack */
	bool separate;	 /* the next item needs a comma before it */
	FILE *out;
};

/* ---- columns --------------------------------------------------------------------- */

static void begin_column(struct writer *w, const char *name)
{
	fprintf(w->out, "%s\"%s\":[", w->separate ? ",\n" : "", name);
	w->separate = false;
}

static void end_column(struct writer *w)
{
	putc(']', w->out);
	w->separate = true;
}

static void put_number_item(struct writer *w, uint64_t value)
{
	if (w->separate)
		putc_unlocked(',', w->out);
	w->separate = true;
	json_write_number(value, w->out);
}

/* Writes a word without quotes: null, -1, true. */
static void put_word_item(struct writer *w, const char *word)
{
	if (w->separate)
		putc_unlocked(',', w->out);
	w->separate = true;
	fputs_unlocked(word, w->out);
}

static void put_optional_item(struct writer *w, uint32_t value, uint32_t none, const char *word)
{
	if (value == none)
		put_word_item(w, word);
	else
		put_number_item(w, value);
}

static void put_constant_column(struct writer *w, const char *name, size_t n, const char *word)
{
	begin_column(w, name);
	for (size_t i = 0; i < n; i++)
		put_word_item(w, word);
	end_column(w);
}

static void begin_table(struct writer *w, const char *name, size_t n)
{
	fprintf(w->out, "%s\"%s\":{\"length\":%zu", w->separate ? ",\n" : "", name, n);
	w->separate = true;
}

static void end_table(struct writer *w)
{
	putc('}', w->out);
	w->separate = true;
}

static void put_string_column(struct writer *w, const char *name,
			      const char *(*get)(const struct writer *w, size_t i), size_t n)
{
	begin_column(w, name);
	for (size_t i = 0; i < n; i++) {
		if (w->separate)
			putc(',', w->out);
		w->separate = true;
		json_write_text(get(w, i), w->out);
	}
	end_column(w);
}

/* ---- tables ---------------------------------------------------------------------- */

/* The strings in this order: function names, then module names, then source files. */
static const char *firefox_string(const struct writer *w, size_t i)
{
	size_t modules = symbol_table_modules(w->p->names);

	if (i < w->locations.n_functions)
		return symbol_table_string(w->p->names, w->locations.functions[i].name);
	i -= w->locations.n_functions;
	if (i < modules)
		return symbol_table_base(w->p->names, i);
	return symbol_table_string(w->p->names, w->sources[i - modules]);
}

static size_t module_string(const struct writer *w, size_t module)
{
	return w->locations.n_functions + module;
}

static size_t source_string(const struct writer *w, size_t source)
{
	return w->locations.n_functions + symbol_table_modules(w->p->names) + source;
}

static const struct location_function *function_of(const struct writer *w, size_t line)
{
	return &w->locations.functions[w->locations.lines[line].function];
}

static unsigned int category_of(const struct location_function *f)
{
	if (f->flags & CCT_KERNEL)
		return CATEGORY_KERNEL;
	if (f->kind == DECODE_FRAME_FOREIGN)
		return CATEGORY_FOREIGN;
	return f->kind == DECODE_FRAME_CALL || f->kind == DECODE_FRAME_TAIL ? CATEGORY_USER
									    : CATEGORY_REMARK;
}

static void firefox_put_stack_table(struct writer *w)
{
	begin_table(w, "stackTable", w->stacks.n);
	begin_column(w, "prefix");
	for (size_t i = 0; i < w->stacks.n; i++)
		put_optional_item(w, w->stacks.list[i].prefix, STACK_TABLE_NONE, "null");
	end_column(w);
	begin_column(w, "frame");
	for (size_t i = 0; i < w->stacks.n; i++)
		put_number_item(w, w->frame[i]);
	end_column(w);
	end_table(w);
}

static size_t line_of_frame(const struct writer *w, size_t frame)
{
	size_t lines = w->locations.n_lines;

	return frame < lines ? frame : w->waiting[frame - lines].line;
}

static unsigned int category_of_frame(const struct writer *w, size_t frame)
{
	size_t lines = w->locations.n_lines;

	return frame < lines ? category_of(function_of(w, frame))
			     : CATEGORY_WAIT + w->waiting[frame - lines].reason;
}

static void firefox_put_frame_table(struct writer *w)
{
	const struct locations *l = &w->locations;
	size_t n = l->n_lines + w->n_waiting;

	begin_table(w, "frameTable", n);
	begin_column(w, "address");
	for (size_t i = 0; i < n; i++) {
		const struct tree_place *place =
			&l->list[w->location_of[line_of_frame(w, i)]].place;

		if (place->module == UINT32_MAX || !place->vaddr)
			put_word_item(w, "-1");
		else
			put_number_item(w, place->vaddr);
	}
	end_column(w);
	begin_column(w, "inlineDepth");
	for (size_t i = 0; i < n; i++) {
		const struct location *location = &l->list[w->location_of[line_of_frame(w, i)]];

		put_number_item(w, location->first + location->n - 1 - line_of_frame(w, i));
	}
	end_column(w);
	begin_column(w, "category");
	for (size_t i = 0; i < n; i++)
		put_number_item(w, category_of_frame(w, i));
	end_column(w);
	put_constant_column(w, "subcategory", n, "0");
	begin_column(w, "func");
	for (size_t i = 0; i < n; i++)
		put_number_item(w, l->lines[line_of_frame(w, i)].function);
	end_column(w);
	put_constant_column(w, "nativeSymbol", n, "null");
	put_constant_column(w, "innerWindowID", n, "0");
	begin_column(w, "line");
	for (size_t i = 0; i < n; i++)
		put_optional_item(w, l->lines[line_of_frame(w, i)].line, 0, "null");
	end_column(w);
	put_constant_column(w, "column", n, "null");
	end_table(w);
}

static void firefox_put_func_table(struct writer *w)
{
	const struct locations *l = &w->locations;

	begin_table(w, "funcTable", l->n_functions);
	begin_column(w, "name");
	for (size_t i = 0; i < l->n_functions; i++)
		put_number_item(w, i);
	end_column(w);
	put_constant_column(w, "isJS", l->n_functions, "false");
	put_constant_column(w, "relevantForJS", l->n_functions, "false");
	begin_column(w, "resource");
	for (size_t i = 0; i < l->n_functions; i++)
		put_optional_item(w, l->functions[i].module, UINT32_MAX, "-1");
	end_column(w);
	begin_column(w, "source");
	for (size_t i = 0; i < l->n_functions; i++)
		put_optional_item(w, w->source_of[i], UINT32_MAX, "null");
	end_column(w);
	put_constant_column(w, "lineNumber", l->n_functions, "null");
	put_constant_column(w, "columnNumber", l->n_functions, "null");
	end_table(w);
}

/* Each module is a resource and a library. */
static void firefox_put_resource_table(struct writer *w)
{
	size_t n = symbol_table_modules(w->p->names);

	begin_table(w, "resourceTable", n);
	begin_column(w, "lib");
	for (size_t i = 0; i < n; i++)
		put_number_item(w, i);
	end_column(w);
	begin_column(w, "name");
	for (size_t i = 0; i < n; i++)
		put_number_item(w, module_string(w, i));
	end_column(w);
	put_constant_column(w, "host", n, "null");
	put_constant_column(w, "type", n, "1");
	end_table(w);
}

static void firefox_put_sources(struct writer *w)
{
	begin_table(w, "sources", w->n_sources);
	put_constant_column(w, "uuid", w->n_sources, "null");
	begin_column(w, "filename");
	for (size_t i = 0; i < w->n_sources; i++)
		put_number_item(w, source_string(w, i));
	end_column(w);
	end_table(w);
}

static void firefox_put_shared(struct writer *w)
{
	fputs(",\n\"shared\":{", w->out);
	w->separate = false;
	firefox_put_stack_table(w);
	firefox_put_frame_table(w);
	firefox_put_func_table(w);
	firefox_put_resource_table(w);
	firefox_put_sources(w);
	begin_table(w, "nativeSymbols", 0);
	put_constant_column(w, "libIndex", 0, "");
	put_constant_column(w, "address", 0, "");
	put_constant_column(w, "name", 0, "");
	put_constant_column(w, "functionSize", 0, "");
	end_table(w);
	put_string_column(w, "stringArray", firefox_string,
			  w->locations.n_functions + symbol_table_modules(w->p->names) +
				  w->n_sources);
	putc('}', w->out);
}

/* ---- threads --------------------------------------------------------------------- */

/* Writes milliseconds since the first sample. */
static void firefox_put_time(struct writer *w, uint64_t time)
{
	if (w->separate)
		putc_unlocked(',', w->out);
	w->separate = true;
	json_write_decimal(time - w->times.first, 6, w->out);
}

struct firefox_sample {
	uint64_t time, weight;
	uint32_t stack;
};

/* Lists the samples of a thread. A wait has one sample at its beginning, and one without weight at
 * its end, because the profiler takes what is between samples for what both are. */
static struct firefox_sample *list_samples(struct writer *w, const uint32_t *samples, size_t n,
					   size_t *count)
{
	struct firefox_sample *list = malloc((2 * n + 1) * sizeof(*list));

	*count = 0;
	if (!list)
		return NULL;
	sample_spans_fill(&w->times, samples, n);
	for (size_t i = 0; i < n; i++) {
		struct profile_moment m = profile_moment(w->p, samples[i]);
		struct sample_span *at = &w->times.list[i];

		list[(*count)++] =
			(struct firefox_sample){at->begin, m.weight, w->stack[m.instruction]};
		if (at->end > at->begin)
			list[(*count)++] =
				(struct firefox_sample){at->end, 0, w->stack[m.instruction]};
	}
	return list;
}

static int firefox_put_samples(struct writer *w, const uint32_t *samples, size_t n_samples)
{
	size_t n;
	struct firefox_sample *list = list_samples(w, samples, n_samples, &n);
	bool weighted = false;

	if (!list)
		return -ENOMEM;
	begin_table(w, "samples", n);
	begin_column(w, "stack");
	for (size_t i = 0; i < n; i++)
		put_optional_item(w, list[i].stack, STACK_TABLE_NONE, "null");
	end_column(w);
	begin_column(w, "time");
	for (size_t i = 0; i < n; i++)
		firefox_put_time(w, list[i].time);
	end_column(w);
	for (size_t i = 0; i < n && !weighted; i++)
		weighted = list[i].weight != 1;
	if (weighted) {
		begin_column(w, "weight");
		for (size_t i = 0; i < n; i++)
			put_number_item(w, list[i].weight);
		end_column(w);
	} else {
		fputs(",\n\"weight\":null", w->out);
	}
	fputs(",\"weightType\":\"samples\"", w->out);
	end_table(w);
	free(list);
	return 0;
}

/* Writes the name of a thread. The format has no field for the creation context, so the name
 * contains its innermost functions. */
static int firefox_put_thread_name(struct writer *w, const struct thread *t)
{
	const char *name = symbol_table_string(w->p->names, t->name);
	char *origin = format_short_origin(w->p, t), *both;
	int n;

	if (!origin)
		return -ENOMEM;
	n = asprintf(&both, *origin ? "%s (created by %s)" : "%s", *name ? name : "thread", origin);
	free(origin);
	if (n < 0)
		return -ENOMEM;
	json_write_text(both, w->out);
	free(both);
	return 0;
}

static int firefox_put_thread(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);
	const char *process = symbol_table_string(w->p->names, t->process);

	fprintf(w->out,
		"%s\n{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":"
		"null,"
		"\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"showMarkersInTimeline\":false,"
		"\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%u,\"name\":",
		thread ? "," : "", t->tid == t->pid ? "true" : "false", t->pid, t->tid);
	if (firefox_put_thread_name(w, t))
		return -ENOMEM;
	fputs(",\"processName\":", w->out);
	json_write_text(*process ? process : "process", w->out);
	w->separate = true;
	if (firefox_put_samples(w, w->samples + w->first[thread],
				w->first[thread + 1] - w->first[thread]))
		return -ENOMEM;
	fputs(",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[]"
	      ",\"phase\":[],"
	      "\"category\":[]}}",
	      w->out);
	return 0;
}

/* ---- metadata -------------------------------------------------------------------- */

/* Writes the categories of waits: their reasons, without brackets. */
static void firefox_put_reasons(const struct writer *w)
{
	static const char *const colors[] = {"magenta", "green", "lightblue", "purple", "brown"};

	for (size_t i = 0; i < w->n_reasons; i++) {
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(w->reasons[i] + 1, "]"),
			 w->reasons[i] + 1);
		fputs(",{\"name\":", w->out);
		json_write_text(name, w->out);
		fprintf(w->out, ",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			colors[i % (sizeof(colors) / sizeof(*colors))]);
	}
}

static void firefox_put_meta(struct writer *w)
{
	const struct profile *p = w->p;
	struct format_unit unit = format_unit(p);
	double interval = unit.clock ? unit.scale / 1e6 : p->frequency ? 1e3 / p->frequency : 1;

	fprintf(w->out,
		"{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,\"interval\":%.6f,"
		"\"startTime\":%.6f,"
		"\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
		"\"sampleUnits\":{\"time\":"
		"\"ms\","
		"\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\"markerSchema\":[],"
		"\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\n\"importedFrom\":\"pcce\",\"appBuildID\":"
		"\"\",\"oscpu\":",
		GECKO_VERSION, VERSION, interval, p->wall_time / 1e6);
	json_write_text(p->kernel, w->out);
	fputs(",\"product\":", w->out);
	json_write_text(*p->command ? p->command : "pcce", w->out);
	fprintf(w->out,
		",\n\"extra\":[{\"label\":\"pcce\",\"entries\":["
		"{\"label\":\"samples\",\"format\":\"integer\",\"value\":%llu},"
		"{\"label\":\"exact\",\"format\":\"integer\",\"value\":%llu},"
		"{\"label\":\"truncated\",\"format\":\"integer\",\"value\":%llu},"
		"{\"label\":\"undecodable\",\"format\":\"integer\",\"value\":%llu},"
		"{\"label\":\"outside\",\"format\":\"integer\",\"value\":%llu},"
		"{\"label\":\"lost\",\"format\":\"integer\",\"value\":%llu}]}]",
		(unsigned long long)p->stats.samples, (unsigned long long)p->stats.exact,
		(unsigned long long)p->stats.truncated, (unsigned long long)p->stats.undecodable,
		(unsigned long long)p->stats.outside, (unsigned long long)p->stats.lost);
	fputs(",\n\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":["
	      "\"Other\"]},"
	      "{\"name\":\"Instrumented\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Not instrumented\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Not "
	      "known\",\"color\":\"red\",\"subcategories\":[\"Other\"]}",
	      w->out);
	firefox_put_reasons(w);
	fputs("]},\n\"libs\":[", w->out);
	for (uint32_t i = 0; i < symbol_table_modules(p->names); i++) {
		const char *path = symbol_table_path(p->names, i),
			   *base = symbol_table_base(p->names, i);
		char id[SYMBOL_TABLE_BUILD_ID];

		symbol_table_build_id_text(p->names, i, id);
		fputs(i ? ",\n{\"arch\":\"x86_64\",\"name\":" : "\n{\"arch\":\"x86_64\",\"name\":",
		      w->out);
		json_write_text(base, w->out);
		fputs(",\"path\":", w->out);
		json_write_text(path, w->out);
		fputs(",\"debugName\":", w->out);
		json_write_text(base, w->out);
		fputs(",\"debugPath\":", w->out);
		json_write_text(path, w->out);
		fputs(",\"breakpadId\":\"\",\"codeId\":", w->out);
		if (*id)
			json_write_text(id, w->out);
		else
			fputs("null", w->out);
		putc('}', w->out);
	}
	putc(']', w->out);
}

static int find_cell_stack(void *ctx, const struct profile_cell *at)
{
	struct writer *w = ctx;

	return stack_table_get(&w->stacks, at->node, at->place, &w->stack[at->instruction]);
}

/* Finds the stack of each instruction, and thereby all frames and functions that the stacks need.
 */
static int find_stacks(struct writer *w)
{
	w->stack = malloc((profile_instruction_count(w->p) + 1) * sizeof(*w->stack));
	return w->stack ? profile_instructions(w->p, find_cell_stack, w) : -ENOMEM;
}

/* Returns the reason for a wait that a line is, as a number from 1. 0: it is none; UINT32_MAX: no
 * memory. */
static uint32_t reason_of(struct writer *w, uint32_t line)
{
	const struct location_function *f = function_of(w, line);
	const char *name = symbol_table_string(w->p->names, f->name);

	if (!(f->flags & CCT_KERNEL) || !sample_spans_is_reason(name))
		return 0;
	for (size_t i = 0; i < w->n_reasons; i++)
		if (!strcmp(w->reasons[i], name))
			return i + 1;
	if (array_grow(&w->reasons, w->n_reasons, sizeof(*w->reasons)))
		return UINT32_MAX;
	w->reasons[w->n_reasons++] = name;
	return w->n_reasons;
}

/* Returns the frame of a line in a wait; UINT32_MAX: no memory. */
static uint32_t waiting_frame(struct writer *w, struct id_map *known, uint32_t line,
			      uint32_t reason)
{
	uint64_t words[ID_MAP_WORDS] = {line, reason};
	struct id_map_entry *e = id_map_find(known, words);

	if (e && e->number)
		return e->number - 1;
	if (!e || array_grow(&w->waiting, w->n_waiting, sizeof(*w->waiting)))
		return UINT32_MAX;
	w->waiting[w->n_waiting] = (struct waiting_frame){line, reason};
	id_map_fill(known, e, words, w->locations.n_lines + w->n_waiting);
	return w->locations.n_lines + w->n_waiting++;
}

/* Finds the frame of each stack. A stack follows the one outside it. */
static int find_frames(struct writer *w)
{
	uint32_t *reasons = malloc((w->stacks.n + 1) * sizeof(*reasons));
	struct id_map known = {0};
	int r = reasons ? 0 : -ENOMEM;

	w->frame = malloc((w->stacks.n + 1) * sizeof(*w->frame));
	if (!w->frame)
		r = -ENOMEM;
	for (size_t i = 0; i < w->stacks.n && !r; i++) {
		const struct stack_row *row = &w->stacks.list[i];
		uint32_t outer = row->prefix == STACK_TABLE_NONE ? 0 : reasons[row->prefix];

		reasons[i] = outer ? outer : reason_of(w, row->line);
		w->frame[i] = reasons[i] && reasons[i] != UINT32_MAX
				      ? waiting_frame(w, &known, row->line, reasons[i] - 1)
				      : row->line;
		if (reasons[i] == UINT32_MAX || w->frame[i] == UINT32_MAX)
			r = -ENOMEM;
	}
	free(reasons);
	id_map_free(&known);
	return r;
}

static int find_sources(struct writer *w)
{
	struct locations *l = &w->locations;
	struct id_map files = {0};
	int r = 0;

	w->location_of = malloc((l->n_lines + 1) * sizeof(*w->location_of));
	w->source_of = malloc((l->n_functions + 1) * sizeof(*w->source_of));
	if (!w->location_of || !w->source_of)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++)
		for (uint32_t k = 0; k < l->list[i].n; k++)
			w->location_of[l->list[i].first + k] = i;
	for (size_t i = 0; i < l->n_functions && !r; i++) {
		uint64_t words[ID_MAP_WORDS] = {l->functions[i].file};
		struct id_map_entry *e;

		w->source_of[i] = UINT32_MAX;
		if (!l->functions[i].file)
			continue;
		e = id_map_find(&files, words);
		if (!e) {
			r = -ENOMEM;
		} else if (e->number) {
			w->source_of[i] = e->number - 1;
		} else if (array_grow(&w->sources, w->n_sources, sizeof(*w->sources))) {
			r = -ENOMEM;
		} else {
			w->sources[w->n_sources] = l->functions[i].file;
			w->source_of[i] = w->n_sources;
			id_map_fill(&files, e, words, w->n_sources++);
		}
	}
	id_map_free(&files);
	return r;
}

int format_firefox(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .out = out};
	int r = locations_new(p, &w.locations);

	(void)o;
	r = r ? r : stack_table_new(p, &w.locations, &w.stacks);
	r = r ? r : find_stacks(&w);
	r = r ? r : find_sources(&w);
	r = r ? r : find_frames(&w);
	r = r ? r : sample_spans_new(p, &w.times);
	r = r ? r : profile_by_thread(p, &w.first, &w.samples);
	if (!r) {
		firefox_put_meta(&w);
		fputs(",\n\"threads\":[", out);
		for (uint32_t i = 0; i < threads_count(p->threads); i++)
			r = r ? r : firefox_put_thread(&w, i);
		putc(']', out);
		firefox_put_shared(&w);
		fputs("}\n", out);
	}
	free(w.location_of);
	free(w.source_of);
	free(w.sources);
	free(w.first);
	free(w.samples);
	free(w.stack);
	free(w.reasons);
	free(w.waiting);
	free(w.frame);
	sample_spans_free(&w.times);
	stack_table_free(&w.stacks);
	locations_free(&w.locations);
	return r;
}

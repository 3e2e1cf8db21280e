/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The processed profile format of the Firefox profiler (profiler.firefox.com), version 60, in which
 * all threads share the tables of stacks, frames and functions; later versions of it read that.
 * Frames are symbolicated and have lines and inlining depths.
 *
 * Tables are objects of columns: each column is written by a walk of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/format.h"
#include "base/json_writer.h"
#include "base/array.h"
#include "base/id_map.h"
#include "profile/stack_table.h"

#define VERSION 60
/* Of the format in which Firefox itself writes profiles; files of its age were made by this one. */
#define GECKO_VERSION 33

/* Categories, in the order of meta.categories. */
enum {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_FOREIGN,
	CATEGORY_KERNEL,
	CATEGORY_REMARK,
};

struct writer {
	const struct profile *p;
	struct locations locations;
	struct stack_table stacks;
	uint32_t *location_of; /* by line */
	uint32_t *sources;     /* strings of the names that are files */
	size_t n_sources;
	uint32_t *source_of;	   /* by function; UINT32_MAX: none */
	uint32_t *first, *samples; /* by thread */
	uint32_t *stack;	   /* by instruction */
	bool separate;		   /* a comma is due */
	FILE *out;
};

/* ---- columns --------------------------------------------------------------------- */

static void begin(struct writer *w, const char *name)
{
	fprintf(w->out, "%s\"%s\":[", w->separate ? ",\n" : "", name);
	w->separate = false;
}

static void end(struct writer *w)
{
	putc(']', w->out);
	w->separate = true;
}

static void put(struct writer *w, uint64_t value)
{
	if (w->separate)
		putc_unlocked(',', w->out);
	w->separate = true;
	json_write_number(value, w->out);
}

/* As it stands: null, -1, true. */
static void put_word(struct writer *w, const char *word)
{
	if (w->separate)
		putc_unlocked(',', w->out);
	w->separate = true;
	fputs_unlocked(word, w->out);
}

static void put_or(struct writer *w, uint32_t value, uint32_t none, const char *word)
{
	if (value == none)
		put_word(w, word);
	else
		put(w, value);
}

static void column_of(struct writer *w, const char *name, size_t n, const char *word)
{
	begin(w, name);
	for (size_t i = 0; i < n; i++)
		put_word(w, word);
	end(w);
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

static void put_strings(struct writer *w, const char *name,
			const char *(*get)(const struct writer *w, size_t i), size_t n)
{
	begin(w, name);
	for (size_t i = 0; i < n; i++) {
		if (w->separate)
			putc(',', w->out);
		w->separate = true;
		json_write_text(get(w, i), w->out);
	}
	end(w);
}

/* ---- tables ---------------------------------------------------------------------- */

/* Strings: first one for each function, then one for each module, then one for each source file. */
static const char *string_at(const struct writer *w, size_t i)
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

static void put_stack_table(struct writer *w)
{
	begin_table(w, "stackTable", w->stacks.n);
	begin(w, "prefix");
	for (size_t i = 0; i < w->stacks.n; i++)
		put_or(w, w->stacks.list[i].prefix, STACK_TABLE_NONE, "null");
	end(w);
	begin(w, "frame");
	for (size_t i = 0; i < w->stacks.n; i++)
		put(w, w->stacks.list[i].line);
	end(w);
	end_table(w);
}

static void put_frame_table(struct writer *w)
{
	const struct locations *l = &w->locations;

	begin_table(w, "frameTable", l->n_lines);
	begin(w, "address");
	for (size_t i = 0; i < l->n_lines; i++) {
		const struct tree_place *place = &l->list[w->location_of[i]].place;

		if (place->module == UINT32_MAX || !place->vaddr)
			put_word(w, "-1");
		else
			put(w, place->vaddr);
	}
	end(w);
	begin(w, "inlineDepth");
	for (size_t i = 0; i < l->n_lines; i++) {
		const struct location *location = &l->list[w->location_of[i]];

		put(w, location->first + location->n - 1 - i);
	}
	end(w);
	begin(w, "category");
	for (size_t i = 0; i < l->n_lines; i++)
		put(w, category_of(function_of(w, i)));
	end(w);
	column_of(w, "subcategory", l->n_lines, "0");
	begin(w, "func");
	for (size_t i = 0; i < l->n_lines; i++)
		put(w, l->lines[i].function);
	end(w);
	column_of(w, "nativeSymbol", l->n_lines, "null");
	column_of(w, "innerWindowID", l->n_lines, "0");
	begin(w, "line");
	for (size_t i = 0; i < l->n_lines; i++)
		put_or(w, l->lines[i].line, 0, "null");
	end(w);
	column_of(w, "column", l->n_lines, "null");
	end_table(w);
}

static void put_func_table(struct writer *w)
{
	const struct locations *l = &w->locations;

	begin_table(w, "funcTable", l->n_functions);
	begin(w, "name");
	for (size_t i = 0; i < l->n_functions; i++)
		put(w, i);
	end(w);
	column_of(w, "isJS", l->n_functions, "false");
	column_of(w, "relevantForJS", l->n_functions, "false");
	begin(w, "resource");
	for (size_t i = 0; i < l->n_functions; i++)
		put_or(w, l->functions[i].module, UINT32_MAX, "-1");
	end(w);
	begin(w, "source");
	for (size_t i = 0; i < l->n_functions; i++)
		put_or(w, w->source_of[i], UINT32_MAX, "null");
	end(w);
	column_of(w, "lineNumber", l->n_functions, "null");
	column_of(w, "columnNumber", l->n_functions, "null");
	end_table(w);
}

/* A resource is a module, and so is a library. */
static void put_resource_table(struct writer *w)
{
	size_t n = symbol_table_modules(w->p->names);

	begin_table(w, "resourceTable", n);
	begin(w, "lib");
	for (size_t i = 0; i < n; i++)
		put(w, i);
	end(w);
	begin(w, "name");
	for (size_t i = 0; i < n; i++)
		put(w, module_string(w, i));
	end(w);
	column_of(w, "host", n, "null");
	column_of(w, "type", n, "1");
	end_table(w);
}

static void put_sources(struct writer *w)
{
	begin_table(w, "sources", w->n_sources);
	column_of(w, "uuid", w->n_sources, "null");
	begin(w, "filename");
	for (size_t i = 0; i < w->n_sources; i++)
		put(w, source_string(w, i));
	end(w);
	end_table(w);
}

static void put_shared(struct writer *w)
{
	fputs(",\n\"shared\":{", w->out);
	w->separate = false;
	put_stack_table(w);
	put_frame_table(w);
	put_func_table(w);
	put_resource_table(w);
	put_sources(w);
	begin_table(w, "nativeSymbols", 0);
	column_of(w, "libIndex", 0, "");
	column_of(w, "address", 0, "");
	column_of(w, "name", 0, "");
	column_of(w, "functionSize", 0, "");
	end_table(w);
	put_strings(w, "stringArray", string_at,
		    w->locations.n_functions + symbol_table_modules(w->p->names) + w->n_sources);
	putc('}', w->out);
}

/* ---- threads --------------------------------------------------------------------- */

/* Milliseconds since the first sample. */
static void put_time(struct writer *w, uint64_t time)
{
	if (w->separate)
		putc_unlocked(',', w->out);
	w->separate = true;
	json_write_decimal(time - w->p->first, 6, w->out);
}

static void put_samples(struct writer *w, const uint32_t *samples, size_t n)
{
	bool weighted = false;

	begin_table(w, "samples", n);
	begin(w, "stack");
	for (size_t i = 0; i < n; i++)
		put_or(w, w->stack[profile_moment(w->p, samples[i]).instruction], STACK_TABLE_NONE,
		       "null");
	end(w);
	begin(w, "time");
	for (size_t i = 0; i < n; i++)
		put_time(w, profile_moment(w->p, samples[i]).time);
	end(w);
	for (size_t i = 0; i < n && !weighted; i++)
		weighted = profile_moment(w->p, samples[i]).weight != 1;
	if (weighted) {
		begin(w, "weight");
		for (size_t i = 0; i < n; i++)
			put(w, profile_moment(w->p, samples[i]).weight);
		end(w);
	} else {
		fputs(",\n\"weight\":null", w->out);
	}
	fputs(",\"weightType\":\"samples\"", w->out);
	end_table(w);
}

/* The format has no field for what created a thread: it goes into the name. */
static int put_thread_name(struct writer *w, const struct thread *t)
{
	const char *name = symbol_table_string(w->p->names, t->name);
	char *origin = format_origin(w->p, t), *both;
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

static int put_thread(struct writer *w, uint32_t thread)
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
	if (put_thread_name(w, t))
		return -ENOMEM;
	fputs(",\"processName\":", w->out);
	json_write_text(*process ? process : "process", w->out);
	w->separate = true;
	put_samples(w, w->samples + w->first[thread], w->first[thread + 1] - w->first[thread]);
	fputs(",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[]"
	      ",\"phase\":[],"
	      "\"category\":[]}}",
	      w->out);
	return 0;
}

/* ---- the rest -------------------------------------------------------------------- */

static void put_meta(struct writer *w)
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
	      "known\",\"color\":\"red\",\"subcategories\":[\"Other\"]}]},\n\"libs\":[",
	      w->out);
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

static int find_stack(void *ctx, const struct profile_cell *at)
{
	struct writer *w = ctx;

	return stack_table_get(&w->stacks, at->node, at->place, &w->stack[at->instruction]);
}

/* The stack of each instruction, and with them all that they need. */
static int find_stacks(struct writer *w)
{
	w->stack = malloc((profile_instruction_count(w->p) + 1) * sizeof(*w->stack));
	return w->stack ? profile_instructions(w->p, find_stack, w) : -ENOMEM;
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
	r = r ? r : profile_by_thread(p, &w.first, &w.samples);
	if (!r) {
		put_meta(&w);
		fputs(",\n\"threads\":[", out);
		for (uint32_t i = 0; i < threads_count(p->threads); i++)
			r = r ? r : put_thread(&w, i);
		putc(']', out);
		put_shared(&w);
		fputs("}\n", out);
	}
	free(w.location_of);
	free(w.source_of);
	free(w.sources);
	free(w.first);
	free(w.samples);
	free(w.stack);
	stack_table_free(&w.stacks);
	locations_free(&w.locations);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the profile format of callgrind, version 1, for callgrind_annotate, KCachegrind and
 * QCachegrind. It has the self costs by function and line. It also has the inclusive cost of calls
 * by caller, line and callee.
 *
 * The format has a field for how often each call was made. Samples do not tell this, so the field
 * has the number of samples in which the call was active. Inlined functions are written like other
 * functions.
 */
#include <string.h>
#include "base/text.h"
#include "format/format.h"
#include "profile/function_sums.h"

struct writer {
	const struct profile *p;
	struct function_sums sums;
	struct format_unit unit;
	FILE *out;
};

/* The format has no escapes. It reads `(N)` at the beginning of a name as an abbreviation. */
static void callgrind_put_name(const struct writer *w, const char *what, const char *name)
{
	char buffer[4096];

	name = text_clean(name, buffer, sizeof(buffer));
	fprintf(w->out, "%s=%s%s\n", what, *name == '(' ? "." : "", *name ? name : "???");
}

static const char *file_of(const struct writer *w, uint32_t file)
{
	return file ? symbol_table_string(w->p->names, file) : "???";
}

/* prefix: "" or "c". The object distinguishes equal names of several modules. */
static void callgrind_put_function(const struct writer *w, const char *prefix, uint32_t function)
{
	const struct function *f = &w->sums.functions.list[function];
	char what[8];

	snprintf(what, sizeof(what), "%sob", prefix);
	callgrind_put_name(
		w, what, f->module == UINT32_MAX ? "" : symbol_table_path(w->p->names, f->module));
	snprintf(what, sizeof(what), "%s", *prefix ? "cfi" : "fl");
	callgrind_put_name(w, what, file_of(w, f->file));
	snprintf(what, sizeof(what), "%sfn", prefix);
	callgrind_put_name(w, what, symbol_table_string(w->p->names, f->name));
}

/* Names the file of the lines that follow, if it is not *now, the file of the lines before. A
 * function can have code in other files than the one in which it begins. */
static void callgrind_put_file(const struct writer *w, uint32_t function, uint32_t file,
			       uint32_t *now)
{
	uint32_t own = w->sums.functions.list[function].file;

	if (!file)
		file = own;
	if (file == *now)
		return;
	*now = file;
	callgrind_put_name(w, file == own ? "fe" : "fi", file_of(w, file));
}

static void callgrind_put_head(const struct writer *w)
{
	const struct profile *p = w->p;
	const char *event = w->unit.clock ? "ns" : w->unit.bytes ? "B" : "Ev";
	char buffer[4096];

	fputs("# callgrind format\nversion: 1\ncreator: pcce " PCCE_VERSION "\n", w->out);
	fprintf(w->out, "cmd: %s\n", text_clean(p->command, buffer, sizeof(buffer)));
	fprintf(w->out, "desc: Trigger: samples of %s\n",
		text_clean(p->event, buffer, sizeof(buffer)));
	fprintf(w->out, "positions: line\n");
	fprintf(w->out, "event: %s : %s\n", event,
		w->unit.clock	? "Nanoseconds"
		: w->unit.bytes ? "Allocated bytes"
				: text_clean(p->event, buffer, sizeof(buffer)));
	fprintf(w->out, "events: %s\n", event);
	fprintf(w->out, "summary: %llu\n", (unsigned long long)(w->sums.total * w->unit.scale));
}

static void callgrind_put_all(const struct writer *w)
{
	const struct function_sums *s = &w->sums;
	size_t line = 0, call = 0;

	callgrind_put_head(w);
	for (uint32_t i = 0; i < s->functions.n; i++) {
		uint32_t file = s->functions.list[i].file;

		fputc('\n', w->out);
		callgrind_put_function(w, "", i);
		for (; line < s->n_lines && s->lines[line].function == i; line++) {
			callgrind_put_file(w, i, s->lines[line].file, &file);
			fprintf(w->out, "%u %llu\n", s->lines[line].line,
				(unsigned long long)(s->lines[line].weight * w->unit.scale));
		}
		for (; call < s->n_calls && s->calls[call].caller == i; call++) {
			const struct function_call_sum *c = &s->calls[call];
			/* A reader computes a function's cost from its self costs and its calls. A
			 * recursive call is already in the inclusive cost, so it counts as 0. */
			uint64_t weight = c->callee == i ? 0 : c->weight;

			callgrind_put_file(w, i, c->file, &file);
			callgrind_put_function(w, "c", c->callee);
			fprintf(w->out, "calls=%llu 0\n%u %llu\n", (unsigned long long)c->samples,
				c->line, (unsigned long long)(weight * w->unit.scale));
		}
	}
	fprintf(w->out, "\ntotals: %llu\n", (unsigned long long)(s->total * w->unit.scale));
}

int format_callgrind(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .unit = format_unit(p), .out = out};
	int r = function_sums_new(p, true, &w.sums);

	(void)o;
	if (r)
		return r;
	callgrind_put_all(&w);
	function_sums_free(&w.sums);
	return 0;
}

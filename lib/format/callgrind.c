/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The profile format of callgrind, version 1: what callgrind_annotate, KCachegrind and QCachegrind
 * read.  Self costs by function and line, and calls by caller, line and callee, with their
 * inclusive cost.
 *
 * The format wants to know how often each call was made, which sampling does not tell: it says the
 * number of samples in which the call was under way.  Inlined functions are functions like others.
 */
#include <errno.h>
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

/* A name: the format has no escapes, and takes `(N)` at its beginning for an abbreviation. */
static void put_name(const struct writer *w, const char *what, const char *name)
{
	char buffer[4096];

	name = text_clean(name, buffer, sizeof(buffer));
	fprintf(w->out, "%s=%s%s\n", what, *name == '(' ? "." : "", *name ? name : "???");
}

static const char *file_of(const struct writer *w, uint32_t file)
{
	return file ? symbol_table_string(w->p->names, file) : "???";
}

/* prefix: "" or "c". Equal names in several modules are told apart by the object. */
static void put_function(const struct writer *w, const char *prefix, uint32_t function)
{
	const struct function *f = &w->sums.functions.list[function];
	char what[8];

	snprintf(what, sizeof(what), "%sob", prefix);
	put_name(w, what, f->module == UINT32_MAX ? "" : symbol_table_path(w->p->names, f->module));
	snprintf(what, sizeof(what), "%s", *prefix ? "cfi" : "fl");
	put_name(w, what, file_of(w, f->file));
	snprintf(what, sizeof(what), "%sfn", prefix);
	put_name(w, what, symbol_table_string(w->p->names, f->name));
}

/* Code of a function that is in another file than its beginning. */
static void put_file(const struct writer *w, uint32_t function, uint32_t file, uint32_t *now)
{
	uint32_t own = w->sums.functions.list[function].file;

	if (!file)
		file = own;
	if (file == *now)
		return;
	*now = file;
	put_name(w, file == own ? "fe" : "fi", file_of(w, file));
}

static void put_head(const struct writer *w)
{
	const struct profile *p = w->p;
	char buffer[4096];

	fputs("# callgrind format\nversion: 1\ncreator: pcce " PCCE_VERSION "\n", w->out);
	fprintf(w->out, "cmd: %s\n", text_clean(p->command, buffer, sizeof(buffer)));
	fprintf(w->out, "desc: Trigger: samples of %s\n",
		text_clean(p->event, buffer, sizeof(buffer)));
	fprintf(w->out, "positions: line\n");
	fprintf(w->out, "event: %s : %s\n", w->unit.clock ? "ns" : "Ev",
		w->unit.clock ? "Nanoseconds" : text_clean(p->event, buffer, sizeof(buffer)));
	fprintf(w->out, "events: %s\n", w->unit.clock ? "ns" : "Ev");
	fprintf(w->out, "summary: %llu\n", (unsigned long long)(w->sums.total * w->unit.scale));
}

static void put_all(const struct writer *w)
{
	const struct function_sums *s = &w->sums;
	size_t line = 0, call = 0;

	put_head(w);
	for (uint32_t i = 0; i < s->functions.n; i++) {
		uint32_t file = s->functions.list[i].file;

		fputc('\n', w->out);
		put_function(w, "", i);
		for (; line < s->n_lines && s->lines[line].function == i; line++) {
			put_file(w, i, s->lines[line].file, &file);
			fprintf(w->out, "%u %llu\n", s->lines[line].line,
				(unsigned long long)(s->lines[line].weight * w->unit.scale));
		}
		for (; call < s->n_calls && s->calls[call].caller == i; call++) {
			const struct function_call_sum *c = &s->calls[call];
			/* What a function costs is its self costs and those of its calls: not of
			 * one of itself, which is within. */
			uint64_t weight = c->callee == i ? 0 : c->weight;

			put_file(w, i, c->file, &file);
			put_function(w, "c", c->callee);
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
	put_all(&w);
	function_sums_free(&w.sums);
	return 0;
}

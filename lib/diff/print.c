/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes differences as text, JSON, folded lines or an HTML page. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"
#include "diff/diff.h"
#include "format/summary_json.h"
#include "format/format.h"
#include "html/page.h"
#include "base/json_writer.h"

/* ---- contexts as text ------------------------------------------------------------ */

struct path {
	uint32_t *list;
	size_t n, capacity;
};

static int path_to(const struct cct *t, uint32_t node, struct path *p)
{
	p->n = 0;
	for (uint32_t i = node; i; i = t->nodes[i].parent)
		p->n++;
	if (array_reserve(&p->list, &p->capacity, p->n, sizeof(*p->list)))
		return -ENOMEM;
	for (size_t i = p->n; i; node = t->nodes[node].parent)
		p->list[--i] = node;
	return 0;
}

/* ---- text ------------------------------------------------------------------------ */

#define SHOWN 12 /* most frames of a context; the middle of a longer one is left out */

static const char *stars(double q)
{
	return q < 0.001 ? "***" : q < 0.01 ? "**" : q < 0.05 ? "*" : "";
}

static void print_absolute(const struct diff_change *c, int digits, FILE *out)
{
	char between[80];

	snprintf(between, sizeof(between), "%+.*f to %+.*f", digits, c->low, digits, c->high);
	fprintf(out, "%9.*f %9.*f %+9.*f  %-19s %-3s  ", digits, c->share_was, digits, c->share_is,
		digits, c->change, between, stars(c->q));
}

static void print_change(const struct diff_change *c, FILE *out)
{
	char between[40];

	snprintf(between, sizeof(between), "%+.2f to %+.2f", c->low, c->high);
	fprintf(out, "%7.2f%% %7.2f%% %+8.2f  %-17s %-3s  ", c->share_was, c->share_is, c->change,
		between, stars(c->q));
}

static int print_context(const struct diff *d, uint32_t node, struct path *p, FILE *out)
{
	char buffer[4096];

	if (path_to(&d->tree, node, p))
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		const struct cct_key *key = d->tree.nodes[p->list[i]].key;

		if (p->n > SHOWN + 1 && i == SHOWN / 2) {
			fprintf(out, TEXT_CALLS "… %zu more …", p->n - SHOWN);
			i = p->n - SHOWN / 2 - 1;
			continue;
		}
		fprintf(out, "%s%s%s", i ? TEXT_CALLS : "",
			text_clean(symbol_table_shown(d->names, key->name), buffer, sizeof(buffer)),
			key->repeat ? " ×N" : "");
	}
	fputs(p->n ? "\n" : "(no context)\n", out);
	return 0;
}

/* Returns the change that a table shows if it is sure and large enough; NULL: not shown. */
static const struct diff_change *shown_change(const struct diff *d, const struct diff_options *o,
					      bool absolute, const struct diff_row *row)
{
	const struct diff_change *c = absolute ? &row->absolute : &row->share;
	double all = d->was[0].total * d->value_was,
	       percent = absolute ? 100 * fabs(c->change) / (all > 0 ? all : 1) : fabs(c->change);

	return c->q > o->max_q || percent < o->min_percent ? NULL : c;
}

static void print_table_head(const struct diff *d, bool absolute, const char *title, FILE *out)
{
	fprintf(out, "\n%s\n", title);
	if (!absolute)
		fputs("  before      now   change  95% interval      mark\n", out);
	else if (*d->unit)
		fputs("before ms    now ms    change  95% interval        mark\n", out);
	else
		fputs("   before       now    change  95% interval        mark\n", out);
}

static int print_table(const struct diff *d, enum diff_what what, bool absolute, const char *title,
		       const struct diff_options *o, FILE *out)
{
	struct diff_row *rows;
	struct path path = {0};
	size_t n, left = 0, unsure = 0, shown = 0;
	char buffer[4096];
	int r = diff_rows(d, what, absolute, &rows, &n);

	if (r)
		return r;
	print_table_head(d, absolute, title, out);
	for (size_t i = 0; i < n && !r; i++) {
		const struct diff_change *c = shown_change(d, o, absolute, &rows[i]);

		if (!c) {
			unsure++;
			continue;
		}
		if (o->max_rows && shown == o->max_rows) {
			left++;
			continue;
		}
		shown++;
		if (absolute)
			print_absolute(c, *d->unit ? 1 : 0, out);
		else
			print_change(c, out);
		if (what == DIFF_CONTEXTS)
			r = print_context(d, rows[i].node, &path, out);
		else
			fprintf(out, "%s\n",
				text_clean(symbol_table_shown(d->names, rows[i].name), buffer,
					   sizeof(buffer)));
	}
	if (left)
		fprintf(out, "  … %zu smaller changes\n", left);
	if (unsure)
		fprintf(out, "  … %zu without a significant change%s\n", unsure,
			o->min_percent > 0 ? " that is large enough" : "");
	free(path.list);
	free(rows);
	return r;
}

static void print_recording(const char *what, const char *name, const struct profile *p, FILE *out)
{
	char file[4096], event[4096], command[4096];

	fprintf(out, "%-7s %s: %llu samples of %s: %s\n", what,
		text_clean(name, file, sizeof(file)), (unsigned long long)p->stats.samples,
		text_clean(p->event, event, sizeof(event)),
		text_clean(p->command, command, sizeof(command)));
}

/* Prints how the time or the number of events changed as a whole. */
static void print_absolute_head(const struct diff *d, FILE *out)
{
	struct diff_change c =
		diff_absolute(d->was[0].total, d->value_was, d->tree.nodes[0].total, d->value_is);
	int digits = *d->unit ? 1 : 0;

	fprintf(out, "%s: %.*f%s%s before, %.*f%s%s now", d->what, digits, c.share_was,
		*d->unit ? " " : "", d->unit, digits, c.share_is, *d->unit ? " " : "", d->unit);
	if (c.share_was > 0)
		fprintf(out, ": %+.1f%%", 100 * c.change / c.share_was);
	fputc('\n', out);
}

int diff_text(const struct diff *d, const struct diff_options *o, FILE *out)
{
	char title[128];
	int r;

	print_recording("before:", o->names[0], d->before, out);
	print_recording("now:", o->names[1], d->now, out);
	print_absolute_head(d, out);
	fprintf(out, "contexts are compared by %s%s%s%s\n",
		d->by_names ? "names of functions" : "calls", *d->other ? " (" : "", d->other,
		*d->other ? ")" : "");
	fprintf(out, "*, **, ***: at most 5, 1, 0.1%% of the changes with this or a stronger mark "
		     "are due to chance\n");
	snprintf(title, sizeof(title), "Functions: total %s (with callees), if both did equal work",
		 d->what);
	r = print_table(d, DIFF_TOTALS, true, title, o, out);
	if (o->absolute) {
		r = r ? r
		      : print_table(d, DIFF_SELVES, true, "Functions: self (without callees)", o,
				    out);
		return r ? r : print_table(d, DIFF_CONTEXTS, true, "Contexts", o, out);
	}
	r = r ? r
	      : print_table(d, DIFF_TOTALS, false,
			    "Functions: total share of the recording (with callees)", o, out);
	r = r ? r
	      : print_table(d, DIFF_SELVES, false, "Functions: self share (without callees)", o,
			    out);
	return r ? r : print_table(d, DIFF_CONTEXTS, false, "Contexts: self share", o, out);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void json_put_change(const struct diff_row *row, FILE *out)
{
	const struct diff_change *c = &row->share, *a = &row->absolute;

	fprintf(out,
		"\"before\":%llu,\"now\":%llu,\"share_before\":%.6g,\"share_now\":%.6g,\"change\":%"
		".6g,\"low\":%.6g,"
		"\"high\":%.6g,\"p\":%.4g,\"q\":%.4g",
		(unsigned long long)c->was, (unsigned long long)c->is, c->share_was, c->share_is,
		c->change, c->low, c->high, c->p, c->q);
	fprintf(out,
		",\"absolute\":{\"before\":%.6g,\"now\":%.6g,\"change\":%.6g,\"low\":%.6g,"
		"\"high\":%.6g,\"p\":%.4g,\"q\":%.4g}}",
		a->share_was, a->share_is, a->change, a->low, a->high, a->p, a->q);
}

static int json_put_changes(const struct diff *d, enum diff_what what, const char *name,
			    const struct diff_options *o, FILE *out)
{
	const char *between = "\n";
	struct diff_row *rows;
	struct path path = {0};
	size_t n, shown = 0;
	int r = diff_rows(d, what, o->absolute, &rows, &n);

	if (r)
		return r;
	fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < n && !r && (!o->max_rows || shown < o->max_rows); i++) {
		if (!shown_change(d, o, o->absolute, &rows[i]))
			continue;
		shown++;
		fputs(between, out);
		between = ",\n";
		if (what != DIFF_CONTEXTS) {
			fputs("{\"name\":", out);
			json_write_text(symbol_table_string(d->names, rows[i].name), out);
		} else {
			r = path_to(&d->tree, rows[i].node, &path);
			fputs("{\"stack\":[", out);
			for (size_t j = 0; j < path.n && !r; j++) {
				if (j)
					putc(',', out);
				json_write_text(
					symbol_table_string(d->names,
							    d->tree.nodes[path.list[j]].key->name),
					out);
			}
			putc(']', out);
		}
		putc(',', out);
		json_put_change(&rows[i], out);
	}
	putc(']', out);
	free(path.list);
	free(rows);
	return r;
}

int diff_json(const struct diff *d, const struct diff_options *o, FILE *out)
{
	int r;

	fputs("{\"format\":\"pcce-diff\",\"version\":1,\n\"before\":", out);
	json_write_text(o->names[0], out);
	fputs(",\n\"now\":", out);
	json_write_text(o->names[1], out);
	fprintf(out, ",\n\"samples_before\":%llu,\"samples_now\":%llu,\n\"by\":\"%s\"",
		(unsigned long long)d->was[0].total, (unsigned long long)d->tree.nodes[0].total,
		d->by_names ? "names" : "calls");
	fprintf(out, ",\n\"unit\":\"%s\"", *d->unit ? d->unit : d->what);
	r = json_put_changes(d, DIFF_TOTALS, "totals", o, out);
	r = r ? r : json_put_changes(d, DIFF_SELVES, "selves", o, out);
	r = r ? r : json_put_changes(d, DIFF_CONTEXTS, "contexts", o, out);
	fputs("}\n", out);
	return r;
}

/* ---- folded ---------------------------------------------------------------------- */

/* Two counts a line, as difffolded.pl writes and flamegraph.pl reads them. A repetition is written
 * twice. */
int diff_folded(const struct diff *d, const struct diff_options *o, FILE *out)
{
	struct path path = {0};
	int r = 0;

	(void)o;
	for (size_t i = 1; i < d->tree.n && !r; i++) {
		if (!d->tree.nodes[i].self && !d->was[i].self)
			continue;
		r = path_to(&d->tree, i, &path);
		for (size_t j = 0; j < path.n && !r; j++) {
			if (j)
				putc(';', out);
			format_folded_name(symbol_table_string(
						   d->names, d->tree.nodes[path.list[j]].key->name),
					   out);
		}
		fprintf(out, " %llu %llu\n", (unsigned long long)d->was[i].self,
			(unsigned long long)d->tree.nodes[i].self);
	}
	free(path.list);
	return r;
}

/* ---- a page ---------------------------------------------------------------------- */

int diff_html(const struct diff *d, const struct diff_options *o, FILE *out)
{
	struct html_page page = {
		.title = d->now->command,
		.names = d->names,
		.tree = &d->tree,
		.facts = summary_of_recording(d->now),
	};
	uint64_t *before = malloc(d->tree.n * sizeof(*before));
	int r = page.facts && before ? 0 : -ENOMEM;

	if (!r && (json_object_set_new(page.facts, "was", summary_of_recording(d->before)) ||
		   json_object_set_new(page.facts, "before", json_clean_string(o->names[0])) ||
		   json_object_set_new(page.facts, "after", json_clean_string(o->names[1]))))
		r = -ENOMEM;
	if (!r) {
		for (size_t i = 0; i < d->tree.n; i++)
			before[i] = d->was[i].self;
		page.before = before;
		r = html_page_write(&page, out);
	}
	json_decref(page.facts);
	free(before);
	return r;
}

int diff_pprof(const struct diff *d, const struct diff_options *o, FILE *out)
{
	(void)o;
	return format_pprof_difference(d->now, d->before, out);
}

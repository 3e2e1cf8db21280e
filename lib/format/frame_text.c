/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the texts of frames, shares and headings. Percentages have perf's colours: red from 5
 * percent, green from 0.5. */
#include <string.h>
#include "api/frame_names.h"
#include "base/text.h"
#include "format/format.h"
#include "format/frame_text.h"

#define RED "\033[1;31m"
#define GREEN "\033[32m"
#define DIM "\033[2m"
#define OFF "\033[0m"

static void print_place(const struct frame_text *f, const struct cct_node *n, FILE *out)
{
	char buffer[1024];

	if (n->key->file)
		fprintf(out, "  %s:%u",
			text_clean(text_base(symbol_table_string(f->names, n->key->file)), buffer,
				   sizeof(buffer)),
			n->key->line);
}

bool frame_text_plain(const struct profile *p)
{
	return p->stats.outside == p->stats.samples;
}

void frame_text_more(const struct frame_text *f, const struct cct_node *n, FILE *out)
{
	if (f->colors)
		fputs(DIM, out);
	print_place(f, n, out);
	if (n->key->flags & CCT_INLINED)
		fputs("  (inlined)", out);
	if (n->key->kind == DECODE_FRAME_TAIL)
		fputs("  (left by a tail call)", out);
	if (n->key->kind == DECODE_FRAME_FOREIGN && !(n->key->flags & CCT_KERNEL) && !f->plain &&
	    strcmp(symbol_table_string(f->names, n->key->name), FRAME_NAMES_CALLER) &&
	    strcmp(symbol_table_string(f->names, n->key->name), FRAME_NAMES_COUNTING_CODE))
		fputs(n->key->flags & CCT_RESTORED ? "  (not instrumented, restored)"
						   : "  (not instrumented)",
		      out);
	if (n->key->flags & CCT_KERNEL && n->key->module != UINT32_MAX)
		fputs("  (kernel)", out);
	if (f->colors)
		fputs(OFF, out);
	if (!n->key->repeat)
		return;
	fprintf(out, "  × %u", n->repeat_min + 1);
	if (n->repeat_max != n->repeat_min)
		fprintf(out, "–%u", n->repeat_max + 1);
	if (n->key->span > 1)
		fprintf(out, ", with the %u %s", n->key->span - 1, f->upwards ? "above" : "below");
}

void frame_text_print(const struct frame_text *f, const struct cct_node *n, FILE *out)
{
	char buffer[4096];

	fputs(text_clean(symbol_table_shown(f->names, n->key->name), buffer, sizeof(buffer)), out);
	frame_text_more(f, n, out);
}

void frame_text_percent(bool colors, int width, int digits, double percent, FILE *out)
{
	const char *color = percent >= 5 ? RED : percent >= 0.5 ? GREEN : "";

	if (colors && *color)
		fprintf(out, "%s%*.*f%%" OFF, color, width, digits, percent);
	else
		fprintf(out, "%*.*f%%", width, digits, percent);
}

static void print_hot_head(const struct hot_tree_summary *h, FILE *out)
{
	fprintf(out,
		"%zu hot contexts (*) of at least %llu, φ = %g of N = %llu; their own share is "
		"%.1f%%"
		"\n%zu callers that are cold; %zu nodes left out, which [cold] sums up\n",
		h->hot_nodes, (unsigned long long)h->least, h->phi, (unsigned long long)h->n,
		text_percent(h->hot, h->n), h->callers, h->removed);
}

static void print_summary_head(const struct recording_hot *s, FILE *out)
{
	fprintf(out,
		"recorded with --hot%s: φ = %g, ε = %g, N = %llu; %.2f%% are in contexts that were "
		"not kept: [cold]\n%s self share lacks more than its error, and a context that is "
		"missing%s has at most %llu (%.3g%%)%s\n",
		s->per_thread ? " --per-thread" : "", s->phi, s->epsilon,
		(unsigned long long)s->weight, text_percent(s->unkept, s->weight),
		s->per_thread ? "in a thread that has it, no" : "no",
		s->per_thread ? " in a thread" : "", (unsigned long long)s->offset,
		text_percent(s->offset, s->weight), s->per_thread ? " there" : "");
}

/* ---- costs ----------------------------------------------------------------------- */

#define COST_WIDTH 49

void frame_text_costs(const struct profile *p, uint64_t calls, uint64_t cost, uint64_t total_cost,
		      FILE *out)
{
	const struct format_unit unit = format_cost_unit(p);
	double scale = (double)unit.scale,
	       each = (double)total_cost * scale / (double)(calls + !calls);

	if (calls)
		fprintf(out, "  %11llu", (unsigned long long)calls);
	else
		fputs("             ", out);
	if (unit.clock)
		fprintf(out, "  %10.1f  %10.1f", (double)cost * scale / 1e6,
			(double)total_cost * scale / 1e6);
	else
		fprintf(out, "  %10.0f  %10.0f", (double)cost * scale, (double)total_cost * scale);
	if (calls)
		fprintf(out, "  %10.*f", each < 100, each);
	else
		fputs("            ", out);
}

void frame_text_costs_head(const struct profile *p, FILE *out)
{
	bool clock = format_cost_unit(p).clock;

	fprintf(out, "        calls  %10s  %10s  %10s", clock ? "self ms" : "self cost",
		clock ? "total ms" : "total cost", clock ? "ns/call" : "cost/call");
}

void frame_text_no_costs(FILE *out)
{
	fprintf(out, "%*s", COST_WIDTH, "");
}

static void print_cost_head(const struct profile_cost *c, FILE *out)
{
	char buffer[1024];

	fprintf(out, "%llu samples of %s", (unsigned long long)c->samples,
		text_clean(c->event, buffer, sizeof(buffer)));
	if (c->between)
		fprintf(out, ", %llu (%.1f%%) between bursts", (unsigned long long)c->between,
			text_percent(c->between, c->samples));
	if (c->counting)
		fprintf(out, ", %llu (%.1f%%) in the counting itself",
			(unsigned long long)c->counting, text_percent(c->counting, c->samples));
	fputs(c->between + c->counting ? ", left out here\n" : "\n", out);
}

/* If there are several events: their sums. */
static void print_events(const struct profile *p, FILE *out)
{
	const char *before = "all events: ";

	for (uint32_t i = 0; i < p->n_events && !p->calls; i++) {
		const struct profile_event e = profile_event_facts(p, i);
		char name[256], buffer[1024];
		struct format_unit unit =
			format_event_unit(p, i, profile_event(p, i, name, sizeof(name)));

		if (p->n_events == 1)
			return;
		fprintf(out, "%s%s", before, text_clean(name, buffer, sizeof(buffer)));
		before = ", ";
		if (unit.clock) {
			fprintf(out, " %.1f ms", (double)e.weight * (double)unit.scale / 1e6);
		} else if (unit.bytes) {
			text_bytes(buffer, sizeof(buffer), e.weight);
			fprintf(out, " %s", buffer);
		} else {
			fprintf(out, " %llu", (unsigned long long)e.weight);
		}
		fprintf(out, " (%llu samples)", (unsigned long long)e.samples);
	}
	if (p->n_events > 1 && !p->calls)
		fputs("; --event=NAME selects\n", out);
}

void frame_text_head(const struct profile *p, FILE *out)
{
	char buffer[1024];

	fprintf(out, "%llu ", (unsigned long long)p->stats.samples);
	if (p->stats.samples != p->all_samples)
		fprintf(out, "of %llu ", (unsigned long long)p->all_samples);
	fputs("samples", out);
	if (format_unit(p).bytes) {
		text_bytes(buffer, sizeof(buffer), p->stats.weight);
		fprintf(out, ", %s,", buffer);
	}
	if (*p->event)
		fprintf(out, " of %s", text_clean(p->event, buffer, sizeof(buffer)));
	if (*p->command)
		fprintf(out, ": %s", text_clean(p->command, buffer, sizeof(buffer)));
	fputc('\n', out);
	if (frame_text_plain(p) && p->stats.frames_unwound)
		fputs("nothing of it is instrumented: frames are found by unwinding\n", out);
	print_events(p, out);
	if (*format_only(p, buffer, sizeof(buffer)))
		fprintf(out, "%s\n", buffer);
	if (p->cost.event)
		print_cost_head(&p->cost, out);
	if (p->summary.phi > 0)
		print_summary_head(&p->summary, out);
	if (p->hot.phi > 0)
		print_hot_head(&p->hot, out);
}

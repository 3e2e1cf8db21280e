// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the report of a disagreement; see report.h. */
#include "tests/oracle/report.h"
#include "tests/oracle/walk.h"

#define LINES 24

static const char *func_name(uint32_t module, uint32_t func)
{
	const struct encoding_table *t = &space_file(module)->table;

	return encoding_table_string(t, t->funcs[func].name);
}

static void show_between(FILE *out, const struct between *b)
{
	if (b->foreign)
		fprintf(out, "    (foreign)\n");
	for (size_t i = 0; i < b->n; i++)
		fprintf(out, "    (left by a tail call: %s)\n",
			func_name((uint32_t)(b->left[i] >> 32), (uint32_t)b->left[i]));
}

static void show_site(FILE *out, uint32_t module, uint32_t site)
{
	const struct pcce_table_site *s;

	if (site == PCCE_NONE) {
		fprintf(out, "\n");
		return;
	}
	s = &space_file(module)->table.sites[site];
	fprintf(out, ", site %u at 0x%llx line %u kind %u value %llu\n", site, s->key, s->line,
		s->kind, s->value);
}

static void show_context(FILE *out, const struct decode_context *ctx)
{
	struct walk_context w = {.ctx = ctx};
	struct between b;
	const struct decode_frame *f;

	for (int i = 0; i < LINES && (f = walk_context_next(&w, &b)); i++) {
		show_between(out, &b);
		if (f->kind == DECODE_FRAME_CALL) {
			fprintf(out, "    %s", func_name(f->module, f->func));
			show_site(out, f->module, site_canonical(space_file(f->module), f->site));
		} else {
			fprintf(out, "    (%s)\n",
				f->kind == DECODE_FRAME_SIGNAL ? "signal" : "gap");
		}
	}
	show_between(out, &b);
	if (w.at < ctx->n)
		fprintf(out, "    ...\n");
}

static void show_chain(FILE *out, const struct chain *c)
{
	struct walk_chain w;
	struct seen_frame f;
	struct between b;
	bool more = true;
	int i;

	walk_chain_begin(&w, c);
	for (i = 0; i < LINES && (more = walk_chain_next(&w, &b, &f)); i++) {
		show_between(out, &b);
		if (f.signal) {
			fprintf(out, "    (signal)\n");
			continue;
		}
		fprintf(out, "    %s", func_name(f.a->file->index, f.a->func));
		show_site(out, f.a->file->index, i ? f.a->site : PCCE_NONE);
	}
	show_between(out, &b);
	if (more)
		fprintf(out, "    ...\n");
}

void report(FILE *out, const char *what, const struct chain *c, struct space *s,
	    const struct sample *sample, const struct stack_store_flat *stack,
	    const struct decode_context *ctx)
{
	const struct pcce_sample *p = &sample->s;

	fprintf(out, "%s: thread %u at %s\n", what, p->tid, space_name(s, p->ip));
	fprintf(out, "  ip 0x%llx sp 0x%llx r11 0x%llx (%s) id %llu ext 0x%llx (%s)\n", p->ip,
		p->sp, p->r11, space_name(s, p->r11), p->id, p->ext, space_name(s, p->ext));
	fprintf(out,
		"  %u entries (%u in the current segment, %u segments below), innermost first:\n",
		stack->n, p->n_entries, p->n_below);
	for (uint32_t i = 0; i < stack->n && i < 8; i++) {
		const struct pcce_entry *e = &stack->entries[stack->n - 1 - i];

		fprintf(out, "    id %llu count 0x%llx site %s\n", e->id, e->site >> PCCE_SITE_BITS,
			space_name(s, e->site & PCCE_SITE_MASK));
	}
	fprintf(out, "  decoded, innermost first (%s):\n", decode_reason_name(ctx->reason));
	show_context(out, ctx);
	fprintf(out, "  seen, innermost first (at the bottom of %zu activations):\n", c->n);
	show_chain(out, c);
	fflush(out);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the graph of functions and calls for Graphviz. A box has larger text if its function has a
 * higher self cost, and is redder if its total cost is higher. An arrow is thicker if its call has
 * a higher cost. Functions and calls below min_percent are left out. The graph's label says how
 * many. With --hot, dot_tree.c writes the tree of hot contexts instead.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "format/dot_tree.h"
#include "format/format.h"
#include "profile/function_sums.h"

struct writer {
	const struct profile *p;
	struct function_sums sums;
	uint64_t least;
	FILE *out;
};

static bool is_drawn(const struct writer *w, uint32_t function)
{
	return w->sums.of[function].total >= w->least;
}

static void dot_put_function(const struct writer *w, uint32_t function)
{
	const struct function *f = &w->sums.functions.list[function];
	const struct function_sum *sum = &w->sums.of[function];
	double self = text_percent(sum->self, w->sums.total),
	       total = text_percent(sum->total, w->sums.total);

	fprintf(w->out, "\tn%u [label=\"", function);
	dot_text_put(symbol_table_shown(w->p->names, f->name), w->out);
	if (f->module != UINT32_MAX && f->kind == DECODE_FRAME_FOREIGN) {
		fputs("\\n", w->out);
		dot_text_put(symbol_table_base(w->p->names, f->module), w->out);
	}
	fprintf(w->out, "\\n%.2f%% self\\n%.2f%% total\" tooltip=\"", self, total);
	dot_text_put(f->file		       ? symbol_table_string(w->p->names, f->file)
		     : f->module == UINT32_MAX ? ""
					       : symbol_table_path(w->p->names, f->module),
		     w->out);
	fprintf(w->out, "\" fontsize=%.1f fillcolor=\"0.05 %.3f 1.0\"%s];\n", 9 + 2.2 * sqrt(self),
		total / 100 * 0.7,
		f->kind == DECODE_FRAME_FOREIGN ? " style=\"filled,dashed\"" : "");
}

static void dot_put_call(const struct writer *w, const struct function_call_sum *c)
{
	double percent = text_percent(c->weight, w->sums.total);

	fprintf(w->out, "\tn%u -> n%u [label=\"%.2f%%\" weight=%u penwidth=%.2f%s];\n", c->caller,
		c->callee, percent, 1 + (unsigned int)percent, 0.5 + percent / 20,
		c->inlined ? " style=dotted tooltip=\"inlined\"" : "");
}

static void dot_put_all(const struct writer *w)
{
	const struct function_sums *s = &w->sums;
	size_t functions = 0, calls = 0;

	fputs("digraph pcce {\n\tnode [shape=box style=filled fontname=\"sans-serif\"];\n"
	      "\tedge [fontname=\"sans-serif\" fontsize=9];\n",
	      w->out);
	for (uint32_t i = 0; i < s->functions.n; i++) {
		if (is_drawn(w, i))
			dot_put_function(w, i);
		else
			functions++;
	}
	for (size_t i = 0; i < s->n_calls; i++) {
		const struct function_call_sum *c = &s->calls[i];

		if (is_drawn(w, c->caller) && is_drawn(w, c->callee) && c->weight >= w->least)
			dot_put_call(w, c);
		else
			calls++;
	}
	fputs("\tlabelloc=t;\n\tlabel=\"", w->out);
	dot_text_put(w->p->command, w->out);
	fprintf(w->out, "\\n%llu samples of ", (unsigned long long)w->p->stats.samples);
	dot_text_put(w->p->event, w->out);
	if (functions || calls)
		fprintf(w->out, "\\nleft out below the limit: %zu functions, %zu calls", functions,
			calls);
	fputs("\";\n}\n", w->out);
}

int format_dot(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .out = out};
	int r;

	if (p->hot.phi > 0)
		return dot_tree_print(p, o, out);
	r = function_sums_new(p, false, &w.sums);
	if (r)
		return r;
	w.least = (uint64_t)ceil(w.sums.total * (o->min_percent / 100.0));
	dot_put_all(&w);
	function_sums_free(&w.sums);
	return 0;
}

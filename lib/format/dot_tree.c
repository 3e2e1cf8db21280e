/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the hot calling context tree for Graphviz. As in the paper, hot contexts are black, and
 * their cold callers are white. Each box has the weight of the context itself, and its share. If
 * the recording is a summary, it has the least and the most that the weight can be. A dashed box
 * [cold] represents what was left out.
 */
#include "base/text.h"
#include "format/dot_tree.h"

void dot_text_put(const char *text, FILE *out)
{
	char buffer[4096];

	for (text = text_clean(text, buffer, sizeof(buffer)); *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void put_context(const struct profile *p, uint32_t node, FILE *out)
{
	const struct cct_node *n = &p->tree.nodes[node];
	bool hot = hot_tree_is_hot(&p->hot, n);

	fprintf(out, "\tn%u [label=\"", node);
	dot_text_put(symbol_table_shown(p->names, n->key->name), out);
	if (n->key->repeat)
		fprintf(out, " × %u", n->key->repeat + 1);
	fprintf(out, "\\n%llu", (unsigned long long)n->self);
	if (p->summary.phi > 0)
		fprintf(out, " to %llu",
			(unsigned long long)(n->self + hot_tree_error(&p->hot, n)));
	fprintf(out, "\\n%.2f%% self, %.2f%% total\"%s];\n", text_percent(n->self, p->hot.n),
		text_percent(n->total, p->hot.n),
		hot				   ? " fillcolor=black fontcolor=white"
		: n->key->name == p->hot.cold_name ? " style=dashed"
						   : "");
	if (!n->parent)
		return;
	fprintf(out, "\tn%u -> n%u", n->parent, node);
	if (n->key->file) {
		fputs(" [label=\"", out);
		dot_text_put(text_base(symbol_table_string(p->names, n->key->file)), out);
		fprintf(out, ":%u\"]", n->key->line);
	}
	fputs(";\n", out);
}

int dot_tree_print(const struct profile *p, const struct format_options *o, FILE *out)
{
	const struct cct *t = &p->tree;
	double least = t->nodes[0].total * (o->min_percent / 100.0);
	unsigned int depth = 0;
	uint32_t node = 0;
	bool skip = false;

	fputs("digraph pcce {\n\tnode [shape=box style=filled fillcolor=white "
	      "fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\" fontsize=9];\n",
	      out);
	while ((node = cct_next(t, node, skip, &depth))) {
		skip = t->nodes[node].total < least || (o->max_depth && depth > o->max_depth);
		if (!skip)
			put_context(p, node, out);
	}
	fputs("\tlabelloc=t;\n\tlabel=\"", out);
	dot_text_put(p->command, out);
	fprintf(out, "\\n%zu hot contexts, φ = %g, N = %llu of ", p->hot.hot_nodes, p->hot.phi,
		(unsigned long long)p->hot.n);
	dot_text_put(p->event, out);
	if (p->summary.phi > 0)
		fprintf(out, "\\nrecorded with φ = %g, ε = %g", p->summary.phi, p->summary.epsilon);
	fputs("\";\n}\n", out);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints one line for each function: its self share, and its total share with all functions that it
 * called. */
#include <string.h>
#include "base/text.h"
#include "tree/flat_profile.h"
#include "format/format.h"
#include "format/frame_text.h"

static void print_function_row(const struct profile *p, const struct format_options *o,
			       const struct flat_profile_row *row, FILE *out)
{
	const char *base = symbol_table_base(p->names, row->module);
	uint64_t all = p->tree.nodes[0].total;
	char buffer[4096];

	frame_text_percent(o->colors, 6, 2, text_percent(row->self, all), out);
	fputs("  ", out);
	frame_text_percent(o->colors, 6, 2, text_percent(row->total, all), out);
	if (p->cost.event)
		frame_text_costs(p, row->self, row->cost, row->total_cost, out);
	else
		fprintf(out, "  %8llu", (unsigned long long)row->samples);
	if (format_unit(p).bytes) {
		text_bytes(buffer, sizeof(buffer), row->self);
		fprintf(out, "  %10s", buffer);
		text_bytes(buffer, sizeof(buffer), row->total);
		fprintf(out, "  %11s", buffer);
	}
	fprintf(out, "  %s",
		text_clean(symbol_table_shown(p->names, row->name), buffer, sizeof(buffer)));
	if (row->file)
		fprintf(out, "  %s:%u",
			text_clean(text_base(symbol_table_string(p->names, row->file)), buffer,
				   sizeof(buffer)),
			row->line);
	if (*base && strcmp(symbol_table_string(p->names, row->name),
			    symbol_table_path(p->names, row->module)))
		fprintf(out, "  (%s)", text_clean(base, buffer, sizeof(buffer)));
	fputc('\n', out);
}

int format_flat(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct flat_profile f;
	int r = flat_profile_build(&p->tree, p->own_lines, &f);

	if (r)
		return r;
	flat_profile_sort(&f, p->names, &o->sort);
	fputs("   self    total", out);
	if (p->cost.event)
		frame_text_costs_head(p, out);
	else
		fputs("   samples", out);
	if (format_unit(p).bytes)
		fputs("  self bytes  total bytes", out);
	fputs("  function\n", out);
	for (size_t i = 0; i < f.n; i++)
		if (text_percent(f.rows[i].total, p->tree.nodes[0].total) >= o->min_percent ||
		    (p->cost.event && text_percent(f.rows[i].total_cost,
						   p->tree.nodes[0].total_cost) >= o->min_percent))
			print_function_row(p, o, &f.rows[i], out);
	flat_profile_free(&f);
	return 0;
}

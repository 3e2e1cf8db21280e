/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints one line for each thread: its share, its ids and name, and its creation context. */
#include <errno.h>
#include <stdlib.h>
#include "base/text.h"
#include "format/format.h"
#include "format/frame_text.h"

struct row {
	const struct thread *thread;
	uint64_t samples, weight;
	uint32_t number;
};

static int by_weight(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->number < y->number ? -1 : 1;
}

static int print_thread_row(const struct profile *p, const struct format_options *o,
			    const struct row *row, FILE *out)
{
	const struct thread *t = row->thread;
	char *origin = format_origin(p, t), buffer[1024];

	if (!origin)
		return -ENOMEM;
	frame_text_percent(o->colors, 6, 2, text_percent(row->weight, p->tree.nodes[0].total), out);
	fprintf(out, "  %8llu  %7u  %7u  %-15s  %s\n", (unsigned long long)row->samples, t->pid,
		t->tid, text_clean(symbol_table_string(p->names, t->name), buffer, sizeof(buffer)),
		*origin		   ? origin
		: t->tid == t->pid ? "-"
				   : "[unknown]");
	free(origin);
	return 0;
}

int format_threads(const struct profile *p, const struct format_options *o, FILE *out)
{
	size_t n = threads_count(p->threads);
	struct row *rows = calloc(n + 1, sizeof(*rows));
	int r = rows ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++)
		rows[i] = (struct row){.thread = threads_get(p->threads, i), .number = i};
	for (size_t i = 0; i < profile_samples(p) && !r; i++) {
		struct profile_sample s = profile_sample(p, i);

		rows[s.thread].samples += s.samples;
		rows[s.thread].weight += s.weight;
	}
	if (!r) {
		qsort(rows, n, sizeof(*rows), by_weight);
		fputs("  total   samples  process   thread  name             created by\n", out);
	}
	for (size_t i = 0; i < n && !r; i++)
		if (rows[i].samples &&
		    text_percent(rows[i].weight, p->tree.nodes[0].total) >= o->min_percent)
			r = print_thread_row(p, o, &rows[i], out);
	free(rows);
	return r;
}

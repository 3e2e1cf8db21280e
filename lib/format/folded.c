/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes one line for each context: `frame;frame;...;leaf weight`, outermost frame first.
 * flamegraph.pl and similar tools read this format. Repeated groups of frames are written out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "format/format.h"

void format_folded_name(const char *name, FILE *out)
{
	bool good;
	size_t n;

	for (; *name; name += n) {
		n = text_character(name, &good);
		if (!good || *name == ' ')
			fputc('_', out);
		else if (*name == ';')
			fputc(':', out);
		else
			fwrite(name, 1, n, out);
	}
}

/* Repeated groups do not nest, so each is written as often as it occurs. */
static void print_path(const struct profile *p, const struct cct *t, const uint32_t *path, size_t n,
		       FILE *out)
{
	for (size_t i = 0; i < n;) {
		const struct cct_key *first = t->nodes[path[i]].key;
		size_t span = first->repeat ? first->span : 1;

		for (uint64_t times = 0; times <= first->repeat; times++) {
			for (size_t j = i; j < i + span && j < n; j++) {
				if (j || times)
					fputc(';', out);
				format_folded_name(
					symbol_table_string(p->names, t->nodes[path[j]].key->name),
					out);
			}
		}
		i += span;
	}
}

int format_folded(const struct profile *p, const struct format_options *o, FILE *out)
{
	unsigned int depth = 0;
	uint32_t *path = NULL, node = 0;
	size_t capacity = 0;
	struct cct t;
	int r = cct_merge(&p->tree, CCT_MERGE_NAMES, &t);

	if (r)
		return r;
	r = cct_finish(&t, p->names);
	(void)o;
	while (!r && (node = cct_next(&t, node, false, &depth))) {
		if (depth >= capacity) {
			size_t want = capacity ? capacity * 2 : 256;
			uint32_t *more = reallocarray(path, want, sizeof(*more));

			if (!more) {
				r = -ENOMEM;
				break;
			}
			path = more;
			capacity = want;
		}
		path[depth - 1] = node;
		if (!t.nodes[node].self)
			continue;
		print_path(p, &t, path, depth, out);
		fprintf(out, " %llu\n", (unsigned long long)t.nodes[node].self);
	}
	free(path);
	cct_free(&t);
	return r;
}

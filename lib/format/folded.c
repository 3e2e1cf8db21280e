/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes one line for each context: `frame;frame;...;leaf weight`, outermost frame first.
 * flamegraph.pl and similar tools read this format. Repeated groups of frames are written out; long
 * ones as unrolled_path.h says.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"
#include "format/format.h"
#include "profile/unrolled_path.h"

/* Returns where a name's end begins that readers could take for a count. They take what follows the
 * last blank for the count, and a number before it for a second one. */
static const char *end_like_count(const char *name)
{
	const char *end = name + strlen(name);

	while (end > name && strchr(" .0123456789", end[-1]))
		end--;
	return end;
}

void format_folded_name(const char *name, FILE *out)
{
	const char *end = end_like_count(name);
	bool good;
	size_t n;

	for (; *name; name += n) {
		n = text_character(name, &good);
		if (!good || (*name == ' ' && name >= end))
			fputc('_', out);
		else if (*name == ';')
			fputc(':', out);
		else
			fwrite(name, 1, n, out);
	}
}

/* Writes a group of n frames `times` times more than once. */
static void print_group(const struct profile *p, const struct cct *t, const uint32_t *path,
			size_t n, uint64_t times, bool first, FILE *out)
{
	uint64_t left_out = 0;

	if ((times + 1) * n > UNROLLED_PATH_REPEAT && times > 1) {
		left_out = times - 1;
		times = 1;
	}
	for (uint64_t i = 0; i <= times; i++) {
		if (i && left_out)
			fprintf(out, ";[%llu more of %s]", (unsigned long long)left_out,
				n == 1 ? "the same" : "these");
		for (size_t j = 0; j < n; j++) {
			const struct cct_key *key = t->nodes[path[j]].key;

			if (!first || j || i)
				fputc(';', out);
			format_folded_name(symbol_table_string(p->names, key->name), out);
		}
	}
}

/* Repeated groups do not nest. */
static void print_path(const struct profile *p, const struct cct *t, const uint32_t *path, size_t n,
		       FILE *out)
{
	for (size_t i = 0; i < n;) {
		const struct cct_key *first = t->nodes[path[i]].key;
		size_t span = first->repeat && first->span ? first->span : 1;

		if (span > n - i)
			span = n - i;
		print_group(p, t, path + i, span, first->repeat, !i, out);
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
		r = array_reserve(&path, &capacity, depth, sizeof(*path));
		if (r)
			break;
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

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A flame graph in one page that needs nothing from outside: flamegraph.html, with
 * the profile as JSON in place of its "@DATA@".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/format.h"

extern const char flamegraph_page[];
extern const char flamegraph_page_end[];

asm(".pushsection .rodata\n"
    "flamegraph_page:\n"
    ".incbin \"tools/lib/flamegraph.html\"\n"
    "flamegraph_page_end:\n"
    ".byte 0\n"
    ".popsection\n");

#define MARK "@DATA@"

/* A JSON string that can stand in a script element. */
static void print_string(const char *text, FILE *out)
{
	char buffer[4096];

	fputc('"', out);
	for (const char *c = format_clean(text, buffer, sizeof(buffer)); *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c == '<' || *c == '>' || *c == '&')
			fprintf(out, "\\u%04x", *c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

/* Strings are numbered anew, in the order in which nodes use them; 0 is "". */
struct numbering {
	uint32_t *number; /* by the profile's number, 0: not used yet */
	size_t capacity;
	uint32_t *used;
	size_t n, used_capacity;
};

static int number_of(struct numbering *s, uint32_t string, uint32_t *number)
{
	uint32_t *more;

	*number = 0;
	if (!string)
		return 0;
	if (string >= s->capacity) {
		size_t want = s->capacity ? s->capacity : 1024;

		while (want <= string)
			want *= 2;
		more = reallocarray(s->number, want, sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + s->capacity, 0, (want - s->capacity) * sizeof(*more));
		s->number = more;
		s->capacity = want;
	}
	if (!s->number[string]) {
		if (s->n == s->used_capacity) {
			size_t want = s->used_capacity ? s->used_capacity * 2 : 1024;

			more = reallocarray(s->used, want, sizeof(*more));
			if (!more)
				return -ENOMEM;
			s->used = more;
			s->used_capacity = want;
		}
		s->used[s->n++] = string;
		s->number[string] = s->n;
	}
	*number = s->number[string];
	return 0;
}

static unsigned int flags_of(const struct cct_key *key)
{
	unsigned int flags = key->flags & CCT_INLINED ? 1 : 0;

	switch (key->kind) {
	case FRAME_TAIL:
		return flags | 2;
	case FRAME_FOREIGN:
		return flags | (key->flags & CCT_KERNEL ? 4 | 8 : 4);
	case FRAME_GAP:
		return flags | 16;
	case FRAME_SIGNAL:
		return flags | 32;
	default:
		return flags;
	}
}

static int print_nodes(const struct cct *t, const struct format_options *o, struct numbering *s, FILE *out)
{
	uint64_t least = t->nodes[0].total * (o->min_percent / 100.0);
	uint32_t *ids = malloc(t->n * sizeof(*ids)), node = 0, id = 0;
	unsigned int depth = 0;
	bool skip = false;
	int r = 0;

	if (!ids)
		return -ENOMEM;
	ids[0] = 0;
	fprintf(out, "[-1,0,0,0,0,%llu,%llu,0,0,0,-1,0]", (unsigned long long)t->nodes[0].self,
		(unsigned long long)t->nodes[0].total);
	while (!r && (node = format_next(t, node, skip, &depth))) {
		const struct cct_node *n = &t->nodes[node];
		uint32_t name, file;

		skip = n->total < least || (o->max_depth && depth > o->max_depth);
		if (skip)
			continue;
		ids[node] = ++id;
		if (number_of(s, n->key.name, &name) || number_of(s, n->key.file, &file)) {
			r = -ENOMEM;
			break;
		}
		fprintf(out, ",\n[%u,%u,%u,%u,%u,%llu,%llu,%u,%u,%u,%d,%llu]", ids[n->parent], name, file, n->key.line,
			flags_of(&n->key), (unsigned long long)n->self, (unsigned long long)n->total, n->repeat_min,
			n->repeat_max, n->key.span, (int)n->key.module, (unsigned long long)n->samples);
	}
	free(ids);
	return r;
}

static int print_data(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct numbering s = {0};
	struct cct merged;
	int r = cct_merge(&p->tree, CCT_MERGE_LINES, &merged);

	if (r)
		return r;
	fputs("{\"event\":", out);
	print_string(p->event, out);
	fputs(",\"command\":", out);
	print_string(p->command, out);
	fprintf(out, ",\"samples\":%llu,\"exact\":%llu,\"unique\":%llu,\"maxDepth\":%llu,\"hidden\":%g,\n\"modules\":[",
		(unsigned long long)p->stats.samples, (unsigned long long)p->stats.exact,
		(unsigned long long)p->stats.unique_contexts, (unsigned long long)p->stats.max_depth, o->min_percent);
	for (uint32_t i = 0; i < names_modules(p->names); i++) {
		fputs(i ? "," : "", out);
		print_string(names_base(p->names, i), out);
	}
	fputs("],\n\"nodes\":[", out);
	r = cct_finish(&merged, p->names);
	if (!r)
		r = print_nodes(&merged, o, &s, out);
	fputs("],\n\"strings\":[\"\"", out);
	for (size_t i = 0; i < s.n; i++) {
		fputs(",\n", out);
		print_string(names_string(p->names, s.used[i]), out);
	}
	fputs("]}", out);
	free(s.number);
	free(s.used);
	cct_free(&merged);
	return r;
}

int format_html(const struct profile *p, const struct format_options *o, FILE *out)
{
	const char *mark = strstr(flamegraph_page, MARK);
	int r;

	fwrite(flamegraph_page, 1, mark - flamegraph_page, out);
	r = print_data(p, o, out);
	mark += strlen(MARK);
	fwrite(mark, 1, flamegraph_page_end - mark, out);
	return r;
}

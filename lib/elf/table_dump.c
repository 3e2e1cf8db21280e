/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints an encoding table as text for people or as JSON for programs. JSON contains all that the
 * text does, and more.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sites.h>
#include "base/text.h"
#include "elf/table_dump.h"
#include "elf/encoding_table.h"

/* What the summary counts, in its order, with the name in text; a key of JSON has underscores. */
#define SUMMARY(X)                             \
	X(FUNCTIONS, "functions")              \
	X(ROOTS, "roots")                      \
	X(ENTRIES, "entries")                  \
	X(SITES, "sites")                      \
	X(EDGES, "edges")                      \
	X(BACK_EDGES, "back edges")            \
	X(INDIRECT, "indirect sites")          \
	X(GUARDS, "guards")                    \
	X(TYPES, "types")                      \
	X(MEMBERS, "members of types")         \
	X(CALLS_OF_TYPES, "calls of types")    \
	X(PUSHES, "pushes")                    \
	X(EXT, "ext")                          \
	X(ZERO_EDGES, "zero edges")            \
	X(ADDED_EDGES, "added edges")          \
	X(TAIL_CALLS, "tail calls")            \
	X(TAIL_GUARDS, "guards of tail calls") \
	X(LARGEST_ID, "largest id")            \
	X(CUT, "edges cut")                    \
	X(GUARDED, "guarded additions")        \
	X(IMPLICIT, "implicit contexts")

#define NUMBER(number, name) number,
#define NAME(number, name) name,
enum { SUMMARY(NUMBER) COUNTS };
static const char *const count_names[COUNTS] = {SUMMARY(NAME)};

/* The last two are of hybrid encoding. */
static size_t n_counts(const struct encoding_table *t)
{
	return t->head->flags & PCCE_TABLE_HYBRID ? COUNTS : GUARDED;
}

/* An id, value or number of contexts, which hybrid encoding has in the upper half. */
static uint64_t whole_id(const struct encoding_table *t, uint64_t id)
{
	return t->head->flags & PCCE_TABLE_HYBRID ? id >> 32 : id;
}

static const char *const kind_names[] = {"none", "add", "ext", "push", "tail", "restore"};

/* Can a context segment begin in the function? */
static bool is_segment_root(const struct pcce_table_func *f)
{
	return f->flags & (PCCE_FUNC_ROOT | PCCE_FUNC_ENTERED);
}

static bool is_type(const struct encoding_table *t, uint32_t func)
{
	return func != PCCE_NONE && t->funcs[func].flags & PCCE_FUNC_TYPE;
}

static void summarize_table(const struct encoding_table *t, uint64_t n[COUNTS])
{
	memset(n, 0, COUNTS * sizeof(*n));
	n[EDGES] = t->head->edges.count;
	n[BACK_EDGES] = t->head->n_back_edges;
	n[CUT] = t->head->n_cut_edges;
	n[LARGEST_ID] = whole_id(t, t->head->largest_id);
	n[IMPLICIT] = t->n_implicit;
	for (uint64_t i = 0; i < t->head->funcs.count; i++) {
		n[FUNCTIONS] += !is_type(t, i);
		n[TYPES] += is_type(t, i);
		n[ROOTS] += is_segment_root(&t->funcs[i]);
		n[ENTRIES] += t->funcs[i].entry != 0;
	}
	for (uint64_t i = 0; i < t->head->sites.count; i++) {
		const struct pcce_table_site *site = &t->sites[i];

		if (is_type(t, site->func)) {
			n[MEMBERS]++;
			continue;
		}
		n[SITES] += site->kind != PCCE_KIND_RESTORE;
		n[INDIRECT] += (site->flags & PCCE_SITE_INDIRECT) && site->kind == PCCE_KIND_PUSH;
		if (site->flags & PCCE_SITE_GUARD) {
			n[CALLS_OF_TYPES] += is_type(t, site->callee);
			n[GUARDS] += !is_type(t, site->callee) && site->kind != PCCE_KIND_TAIL;
		}
		n[ZERO_EDGES] += site->kind == PCCE_KIND_NONE;
		n[ADDED_EDGES] += site->kind == PCCE_KIND_ADD;
		n[GUARDED] += (site->flags & PCCE_SITE_IF_EXPLICIT) != 0;
		n[EXT] += site->kind == PCCE_KIND_EXT;
		n[PUSHES] += site->kind == PCCE_KIND_PUSH;
		n[TAIL_CALLS] += site->kind == PCCE_KIND_TAIL;
		n[TAIL_GUARDS] += site->kind == PCCE_KIND_TAIL && site->flags & PCCE_SITE_GUARD;
	}
}

#define NAME_MAX_BYTES 4096

static const char *clean_name(const struct encoding_table *t, uint32_t name,
			      char buffer[NAME_MAX_BYTES])
{
	return text_clean(encoding_table_string(t, name), buffer, NAME_MAX_BYTES);
}

static const char *site_callee_name(const struct encoding_table *t, const struct pcce_table_site *s,
				    char buffer[NAME_MAX_BYTES])
{
	if (s->callee != PCCE_NONE)
		return clean_name(t, t->funcs[s->callee].name, buffer);
	if (s->callee_name)
		return clean_name(t, s->callee_name, buffer);
	return s->flags & PCCE_SITE_INDIRECT ? "(through a pointer)" : "(outside)";
}

static void print_sites(const struct encoding_table *t, uint32_t func, const uint32_t *first,
			const uint32_t *order, FILE *out)
{
	char name[NAME_MAX_BYTES];

	for (uint32_t i = first[func]; i < first[func + 1]; i++) {
		const struct pcce_table_site *s = &t->sites[order[i]];

		if (s->kind == PCCE_KIND_RESTORE)
			continue;
		fprintf(out, "    %#" PRIx64 " line %u: %s", (uint64_t)s->key, s->line,
			kind_names[s->kind]);
		if (s->kind == PCCE_KIND_ADD)
			fprintf(out, " %" PRIu64 "%s", whole_id(t, s->value),
				s->flags & PCCE_SITE_IF_EXPLICIT ? " if not 0" : "");
		fprintf(out, " -> %s\n", site_callee_name(t, s, name));
	}
}

/* Groups the sites by function, each group in the order of addresses. */
static int group_sites(const struct encoding_table *t, uint32_t **first, uint32_t **order)
{
	uint64_t n = t->head->funcs.count, m = t->head->sites.count;

	*first = calloc(n + 2, sizeof(**first));
	*order = malloc((m + 1) * sizeof(**order));
	if (!*first || !*order) {
		free(*first);
		free(*order);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < m; i++)
		(*first)[t->sites[i].func + 2]++;
	for (uint64_t i = 0; i < n; i++)
		(*first)[i + 2] += (*first)[i + 1];
	for (uint64_t i = 0; i < m; i++)
		(*order)[(*first)[t->sites[i].func + 1]++] = i;
	return 0;
}

static int dump_text(const struct encoding_table *t, bool encoded, bool details, FILE *out)
{
	uint64_t n[COUNTS];
	char name[NAME_MAX_BYTES];
	uint32_t *first, *order;

	if (group_sites(t, &first, &order))
		return -ENOMEM;
	fprintf(out, "encoded: %s\n", encoded ? "yes" : "no");
	summarize_table(t, n);
	for (size_t i = 0; i < n_counts(t); i++)
		fprintf(out, "%s: %" PRIu64 "\n", count_names[i], n[i]);
	fputc('\n', out);
	for (uint64_t i = 0; i < t->head->funcs.count; i++) {
		const struct pcce_table_func *f = &t->funcs[i];

		fprintf(out, "%#" PRIx64 " %s contexts=%" PRIu64 " edges=%u sites=%u%s%s%s\n",
			(uint64_t)f->addr, clean_name(t, f->name, name), whole_id(t, f->num_cc),
			f->n_edges, first[i + 1] - first[i], is_segment_root(f) ? " root" : "",
			f->flags & PCCE_FUNC_TAIL_OUT ? " tail-out" : "",
			f->flags & PCCE_FUNC_RESTORES ? " restores" : "");
		if (!details)
			continue;
		for (uint32_t k = f->first_edge; k < f->first_edge + f->n_edges; k++) {
			const struct pcce_table_site *site;

			if (t->edges[k].site == PCCE_NONE) {
				fprintf(out, "    at %" PRIu64 ": entered at %s\n",
					(uint64_t)t->edges[k].value,
					clean_name(t, t->funcs[t->edges[k].tail].name, name));
				continue;
			}
			site = &t->sites[t->edges[k].site];
			fprintf(out, "    from %" PRIu64 ": %s at %#" PRIx64 "%s\n",
				whole_id(t, t->edges[k].value),
				clean_name(t, t->funcs[site->func].name, name), (uint64_t)site->key,
				t->edges[k].tail ? " by tail calls" : "");
		}
		print_sites(t, i, first, order, out);
	}
	free(first);
	free(order);
	return 0;
}

/* Ids are decimal strings, since JSON readers may round numbers above 2^53. */
static json_t *json_id(uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	return json_string(text);
}

static json_t *json_summary(const struct encoding_table *t, bool encoded)
{
	json_t *summary = json_pack("{s:b}", "encoded", encoded);
	uint64_t n[COUNTS];
	char key[32];

	summarize_table(t, n);
	for (size_t i = 0; i < n_counts(t); i++) {
		snprintf(key, sizeof(key), "%s", count_names[i]);
		for (char *c = key; (c = strchr(c, ' '));)
			*c = '_';
		json_object_set_new(summary, key,
				    i == LARGEST_ID ? json_id(n[i])
						    : json_integer((json_int_t)n[i]));
	}
	return summary;
}

static json_t *json_edge(const struct encoding_table *t, const struct pcce_table_edge *e)
{
	if (e->site == PCCE_NONE)
		return json_pack("{s:o,s:I}", "value", json_id(e->value), "entered",
				 (json_int_t)e->tail);
	return json_pack("{s:I,s:o,s:b}", "site", (json_int_t)e->site, "value",
			 json_id(whole_id(t, e->value)), "tail", (int)e->tail);
}

static json_t *json_function(const struct encoding_table *t, const struct pcce_table_func *f)
{
	json_t *edges = json_array();

	for (uint32_t k = f->first_edge; k < f->first_edge + f->n_edges; k++)
		json_array_append_new(edges, json_edge(t, &t->edges[k]));
	return json_pack("{s:s%,s:I,s:o,s:b,s:b,s:b,s:o}", "name",
			 encoding_table_string(t, f->name),
			 strlen(encoding_table_string(t, f->name)), "address", (json_int_t)f->addr,
			 "contexts", json_id(whole_id(t, f->num_cc)), "root", is_segment_root(f),
			 "tail_out", !!(f->flags & PCCE_FUNC_TAIL_OUT), "restores",
			 !!(f->flags & PCCE_FUNC_RESTORES), "edges", edges);
}

static json_t *json_site(const struct encoding_table *t, const struct pcce_table_site *s)
{
	json_t *site = json_pack("{s:I,s:s,s:o,s:I,s:I,s:b}", "key", (json_int_t)s->key, "kind",
				 kind_names[s->kind], "value", json_id(whole_id(t, s->value)),
				 "function", (json_int_t)s->func, "line", (json_int_t)s->line,
				 "indirect", !!(s->flags & PCCE_SITE_INDIRECT));

	if (s->callee != PCCE_NONE)
		json_object_set_new(site, "callee", json_integer(s->callee));
	else if (s->callee_name)
		json_object_set_new(site, "imported",
				    json_string(encoding_table_string(t, s->callee_name)));
	return site;
}

static int dump_json(const struct encoding_table *t, bool encoded, FILE *out)
{
	json_t *root = json_summary(t, encoded), *functions = json_array(), *sites = json_array();
	int err;

	for (uint64_t i = 0; i < t->head->funcs.count; i++)
		json_array_append_new(functions, json_function(t, &t->funcs[i]));
	for (uint64_t i = 0; i < t->head->sites.count; i++)
		json_array_append_new(sites, json_site(t, &t->sites[i]));
	json_object_set_new(root, "function_list", functions);
	json_object_set_new(root, "site_list", sites);
	/* All other failures are write errors, which the caller finds with ferror(). */
	err = json_dumpf(root, out, JSON_INDENT(1)) && !ferror(out) ? -ENOMEM : 0;
	fputc('\n', out);
	json_decref(root);
	return err;
}

int table_dump(const void *table, size_t size, bool encoded, enum table_dump_format format,
	       bool details, FILE *out, struct error *why)
{
	struct error reason = {0};
	struct encoding_table t;
	int err = encoding_table_open(table, size, &t, &reason);

	if (err)
		return error_set(why, err, "has an encoding table that %s", reason.text);
	err = format == TABLE_DUMP_JSON ? dump_json(&t, encoded, out)
					: dump_text(&t, encoded, details, out);
	encoding_table_close(&t);
	return err ? error_set(why, err, "has an encoding table that cannot be printed: %s",
			       strerror(-err))
		   : 0;
}

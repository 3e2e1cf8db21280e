/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Everything, for machines.  The tree is a list of nodes in preorder, each with the
 * index of its parent, and not nested objects: contexts are deeper than what JSON
 * readers accept.  One node a line.
 *
 *   { "format": "pcce-report", "version": 1, "event": ..., "stats": {...},
 *     "modules": [ path, ... ],
 *     "nodes": [
 *       { "id": 0, "parent": null, "name": "all", "total": N, ... },
 *       ...
 *     ] }
 *
 * There can be millions of nodes: they are written without making objects of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include "format/summary_json.h"
#include "format/format.h"
#include "base/json_writer.h"

static int print(json_t *value, FILE *out)
{
	int r;

	if (!value)
		return -ENOMEM;
	r = json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
	/* Any other failure is the stream's, and ferror() tells it. */
	return r && !ferror(out) ? -ENOMEM : 0;
}

static json_t *stats_object(const struct profile *p)
{
	const struct profile_stats *s = &p->stats;
	json_t *o = json_object();
	int r = 0;

	r |= summary_of_samples(p, o);
	if (s->verify) {
		r |= json_object_set_new(o, "verified", json_integer(s->verified));
		r |= json_object_set_new(o, "mismatches", json_integer(s->mismatches));
		r |= json_object_set_new(o, "unverifiable", json_integer(s->unverifiable));
	}
	r |= json_object_set_new(o, "undecodable_reasons", summary_reasons(p));
	r |= json_object_set_new(o, "complete", json_boolean(p->complete));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static void put_number(const char *field, uint64_t n, FILE *out)
{
	fputs_unlocked(field, out);
	json_write_number(n, out);
}

static void put_text(const char *field, const char *s, FILE *out)
{
	fputs_unlocked(field, out);
	json_write_text(s, out);
}

static void put_key(const struct profile *p, const struct cct_key *key, FILE *out)
{
	static const char *const kinds[] = {
		[DECODE_FRAME_CALL] = "call",	    [DECODE_FRAME_TAIL] = "tail",
		[DECODE_FRAME_FOREIGN] = "foreign", [DECODE_FRAME_GAP] = "gap",
		[DECODE_FRAME_SIGNAL] = "signal",   [DECODE_FRAME_ORIGIN] = "thread",
	};
	const struct encoding_table *t =
		key->func == PCCE_NONE ? NULL : symbol_table_table(p->names, key->module);

	put_text(",\"kind\":", key->flags & CCT_KERNEL ? "kernel" : kinds[key->kind], out);
	fputs_unlocked(key->flags & CCT_INLINED ? ",\"inlined\":true" : ",\"inlined\":false", out);
	if (key->module != UINT32_MAX)
		put_number(",\"module\":", key->module, out);
	if (t)
		put_text(",\"function\":", encoding_table_string(t, t->funcs[key->func].name), out);
	if (key->call)
		put_number(",\"call\":", key->call, out);
	if (key->file)
		put_text(",\"file\":", symbol_table_string(p->names, key->file), out);
	if (key->line)
		put_number(",\"line\":", key->line, out);
	if (key->repeat) {
		put_number(",\"repeat\":", (uint64_t)key->repeat + 1, out);
		put_number(",\"span\":", key->span, out);
	}
}

static void put_node(const struct profile *p, uint32_t node, uint32_t id, uint32_t parent,
		     FILE *out)
{
	const struct cct_node *n = &p->tree.nodes[node];

	put_number("{\"id\":", id, out);
	if (node)
		put_number(",\"parent\":", parent, out);
	else
		fputs_unlocked(",\"parent\":null", out);
	put_text(",\"name\":", node ? symbol_table_string(p->names, n->key->name) : "all", out);
	put_number(",\"self\":", n->self, out);
	put_number(",\"total\":", n->total, out);
	put_number(",\"samples\":", n->samples, out);
	if (node)
		put_key(p, n->key, out);
	putc_unlocked('}', out);
}

static int print_nodes(const struct profile *p, const struct format_options *o, FILE *out)
{
	const struct cct *t = &p->tree;
	uint64_t least = t->nodes[0].total * (o->min_percent / 100.0);
	uint32_t *ids = malloc(t->n * sizeof(*ids)), node = 0, id = 0;
	unsigned int depth = 0;
	bool skip;

	if (!ids)
		return -ENOMEM;
	ids[0] = 0;
	put_node(p, 0, 0, 0, out);
	for (skip = false; (node = cct_next(t, node, skip, &depth));) {
		skip = t->nodes[node].total < least || (o->max_depth && depth > o->max_depth);
		if (skip)
			continue;
		ids[node] = ++id;
		fputs(",\n", out);
		put_node(p, node, id, ids[t->nodes[node].parent], out);
	}
	free(ids);
	return 0;
}

int format_json(const struct profile *p, const struct format_options *o, FILE *out)
{
	int r;

	fputs("{\"format\":\"pcce-report\",\"version\":1,\n\"event\":", out);
	r = print(json_clean_string(p->event), out);
	fputs(",\n\"command\":", out);
	r = r ? r : print(json_clean_string(p->command), out);
	fputs(",\n\"sampler\":", out);
	r = r ? r : print(json_clean_string(p->sampler), out);
	fprintf(out, ",\n\"frequency\":%llu,\n\"stats\":", (unsigned long long)p->frequency);
	r = r ? r : print(stats_object(p), out);
	fputs(",\n\"modules\":[", out);
	for (uint32_t i = 0; !r && i < symbol_table_modules(p->names); i++) {
		fputs(i ? "," : "", out);
		r = print(json_clean_string(symbol_table_path(p->names, i)), out);
	}
	fputs("],\n\"nodes\":[\n", out);
	r = r ? r : print_nodes(p, o, out);
	fputs("\n]}\n", out);
	return r;
}

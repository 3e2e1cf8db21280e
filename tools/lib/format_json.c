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
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include "tools/lib/format.h"

static json_t *text(const char *s)
{
	char buffer[4096];

	return json_string(format_clean(s, buffer, sizeof(buffer)));
}

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
	json_t *o = json_object(), *reasons = json_object();
	int r = 0;

	r |= json_object_set_new(o, "samples", json_integer(s->samples));
	r |= json_object_set_new(o, "exact", json_integer(s->exact));
	r |= json_object_set_new(o, "truncated", json_integer(s->truncated));
	r |= json_object_set_new(o, "undecodable", json_integer(s->undecodable));
	r |= json_object_set_new(o, "outside", json_integer(s->outside));
	r |= json_object_set_new(o, "lost", json_integer(s->lost));
	r |= json_object_set_new(o, "unique_contexts", json_integer(s->unique_contexts));
	r |= json_object_set_new(o, "max_depth", json_integer(s->max_depth));
	r |= json_object_set_new(o, "max_encoding_stack", json_integer(s->max_encoding_stack));
	r |= json_object_set_new(o, "bytes_per_sample",
				 json_real(s->samples ? (double)s->sample_bytes / s->samples : 0.0));
	if (s->verify) {
		r |= json_object_set_new(o, "verified", json_integer(s->verified));
		r |= json_object_set_new(o, "mismatches", json_integer(s->mismatches));
		r |= json_object_set_new(o, "unverifiable", json_integer(s->unverifiable));
	}
	for (int i = REASON_NONE + 1; i < REASON_COUNT; i++)
		if (s->reasons[i])
			r |= json_object_set_new(reasons, decode_reason_name(i), json_integer(s->reasons[i]));
	r |= json_object_set_new(o, "undecodable_reasons", reasons);
	r |= json_object_set_new(o, "complete", json_boolean(p->complete));
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *node_object(const struct profile *p, uint32_t node, uint32_t id, int64_t parent)
{
	static const char *const kinds[] = {
		[FRAME_CALL] = "call", [FRAME_TAIL] = "tail",	  [FRAME_FOREIGN] = "foreign",
		[FRAME_GAP] = "gap",   [FRAME_SIGNAL] = "signal",
	};
	const struct cct_node *n = &p->tree.nodes[node];
	json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "id", json_integer(id));
	r |= json_object_set_new(o, "parent", parent < 0 ? json_null() : json_integer(parent));
	r |= json_object_set_new(o, "name", text(node ? names_string(p->names, n->key->name) : "all"));
	r |= json_object_set_new(o, "self", json_integer(n->self));
	r |= json_object_set_new(o, "total", json_integer(n->total));
	r |= json_object_set_new(o, "samples", json_integer(n->samples));
	if (node) {
		r |= json_object_set_new(o, "kind",
					 json_string(n->key->flags & CCT_KERNEL ? "kernel" : kinds[n->key->kind]));
		r |= json_object_set_new(o, "inlined", json_boolean(n->key->flags & CCT_INLINED));
	}
	if (n->key->module != UINT32_MAX)
		r |= json_object_set_new(o, "module", json_integer(n->key->module));
	if (n->key->func != PCCE_NONE) {
		const struct table *t = names_table(p->names, n->key->module);

		if (t)
			r |= json_object_set_new(o, "function", text(table_string(t, t->funcs[n->key->func].name)));
	}
	if (n->key->call)
		r |= json_object_set_new(o, "call", json_integer(n->key->call));
	if (n->key->file)
		r |= json_object_set_new(o, "file", text(names_string(p->names, n->key->file)));
	if (n->key->line)
		r |= json_object_set_new(o, "line", json_integer(n->key->line));
	if (n->key->repeat) {
		r |= json_object_set_new(o, "repeat", json_integer((json_int_t)n->key->repeat + 1));
		r |= json_object_set_new(o, "span", json_integer(n->key->span));
	}
	if (r) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static int print_nodes(const struct profile *p, const struct format_options *o, FILE *out)
{
	const struct cct *t = &p->tree;
	uint64_t least = t->nodes[0].total * (o->min_percent / 100.0);
	uint32_t *ids = malloc(t->n * sizeof(*ids)), node = 0, id = 0;
	unsigned int depth = 0;
	bool skip;
	int r;

	if (!ids)
		return -ENOMEM;
	ids[0] = 0;
	r = print(node_object(p, 0, 0, -1), out);
	for (skip = false; !r && (node = format_next(t, node, skip, &depth));) {
		skip = t->nodes[node].total < least || (o->max_depth && depth > o->max_depth);
		if (skip)
			continue;
		ids[node] = ++id;
		fputs(",\n", out);
		r = print(node_object(p, node, id, ids[t->nodes[node].parent]), out);
	}
	free(ids);
	return r;
}

int format_json(const struct profile *p, const struct format_options *o, FILE *out)
{
	int r;

	fputs("{\"format\":\"pcce-report\",\"version\":1,\n\"event\":", out);
	r = print(text(p->event), out);
	fputs(",\n\"command\":", out);
	r = r ? r : print(text(p->command), out);
	fputs(",\n\"sampler\":", out);
	r = r ? r : print(text(p->sampler), out);
	fprintf(out, ",\n\"frequency\":%llu,\n\"stats\":", (unsigned long long)p->frequency);
	r = r ? r : print(stats_object(p), out);
	fputs(",\n\"modules\":[", out);
	for (uint32_t i = 0; !r && i < names_modules(p->names); i++) {
		fputs(i ? "," : "", out);
		r = print(text(names_path(p->names, i)), out);
	}
	fputs("],\n\"nodes\":[\n", out);
	r = r ? r : print_nodes(p, o, out);
	fputs("\n]}\n", out);
	return r;
}

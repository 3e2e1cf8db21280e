/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the calling context tree and all facts about the recording as JSON. The tree is a list of
 * nodes in preorder, each with the index of its parent. Nested objects would be deeper than JSON
 * readers accept. Each node has its own line.
 *
 *   { "format": "pcce-report", "version": 1, "event": ..., "stats": {...},
 *     "modules": [ path, ... ],
 *     "nodes": [
 *       { "id": 0, "parent": null, "name": "all", "total": N, ... },
 *       ...
 *     ] }
 *
 * With --hot, "hot" describes what is hot, and each node tells whether it is. If the recording is a
 * summary, "summary" tells its parameters, and each node what may be missing from "self": "error".
 *
 * A tree can have millions of nodes, so they are written directly, not through JSON objects.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include "format/summary_json.h"
#include "format/format.h"
#include "base/json_writer.h"

static int write_json_value(json_t *value, FILE *out)
{
	int r;

	if (!value)
		return -ENOMEM;
	r = json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
	/* All other failures are write errors, which the caller finds with ferror(). */
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

static void put_number_field(const char *field, uint64_t n, FILE *out)
{
	fputs_unlocked(field, out);
	json_write_number(n, out);
}

static void put_text_field(const char *field, const char *s, FILE *out)
{
	fputs_unlocked(field, out);
	json_write_text(s, out);
}

static void json_put_key(const struct profile *p, const struct cct_key *key, FILE *out)
{
	static const char *const kinds[] = {
		[DECODE_FRAME_CALL] = "call",	    [DECODE_FRAME_TAIL] = "tail",
		[DECODE_FRAME_FOREIGN] = "foreign", [DECODE_FRAME_GAP] = "gap",
		[DECODE_FRAME_SIGNAL] = "signal",   [DECODE_FRAME_ORIGIN] = "thread",
	};
	const struct encoding_table *t =
		key->func == PCCE_NONE ? NULL : symbol_table_table(p->names, key->module);

	put_text_field(",\"kind\":", key->flags & CCT_KERNEL ? "kernel" : kinds[key->kind], out);
	fputs_unlocked(key->flags & CCT_INLINED ? ",\"inlined\":true" : ",\"inlined\":false", out);
	if (key->flags & CCT_RESTORED)
		fputs_unlocked(",\"restored\":true", out);
	if (key->module != UINT32_MAX)
		put_number_field(",\"module\":", key->module, out);
	if (t)
		put_text_field(",\"function\":", encoding_table_string(t, t->funcs[key->func].name),
			       out);
	if (key->call)
		put_number_field(",\"call\":", key->call, out);
	if (key->file)
		put_text_field(",\"file\":", symbol_table_string(p->names, key->file), out);
	if (key->line)
		put_number_field(",\"line\":", key->line, out);
	if (key->repeat) {
		put_number_field(",\"repeat\":", (uint64_t)key->repeat + 1, out);
		put_number_field(",\"span\":", key->span, out);
	}
}

static void json_put_node(const struct profile *p, uint32_t node, uint32_t id, uint32_t parent,
			  FILE *out)
{
	const struct cct_node *n = &p->tree.nodes[node];

	put_number_field("{\"id\":", id, out);
	if (node)
		put_number_field(",\"parent\":", parent, out);
	else
		fputs_unlocked(",\"parent\":null", out);
	put_text_field(",\"name\":", node ? symbol_table_string(p->names, n->key->name) : "all",
		       out);
	put_number_field(",\"self\":", n->self, out);
	put_number_field(",\"total\":", n->total, out);
	put_number_field(",\"samples\":", n->samples, out);
	if (p->summary.phi > 0)
		put_number_field(",\"error\":", hot_tree_error(&p->hot, n), out);
	if (p->hot.phi > 0)
		fputs_unlocked(hot_tree_is_hot(&p->hot, n) ? ",\"hot\":true" : ",\"hot\":false",
			       out);
	if (node)
		json_put_key(p, n->key, out);
	putc_unlocked('}', out);
}

static int json_put_nodes(const struct profile *p, const struct format_options *o, FILE *out)
{
	const struct cct *t = &p->tree;
	uint64_t least = t->nodes[0].total * (o->min_percent / 100.0);
	uint32_t *ids = malloc(t->n * sizeof(*ids)), node = 0, id = 0;
	unsigned int depth = 0;
	bool skip;

	if (!ids)
		return -ENOMEM;
	ids[0] = 0;
	json_put_node(p, 0, 0, 0, out);
	for (skip = false; (node = cct_next(t, node, skip, &depth));) {
		skip = t->nodes[node].total < least || (o->max_depth && depth > o->max_depth);
		if (skip)
			continue;
		ids[node] = ++id;
		fputs(",\n", out);
		json_put_node(p, node, id, ids[t->nodes[node].parent], out);
	}
	free(ids);
	return 0;
}

static void put_hot_summary(const struct hot_tree_summary *h, FILE *out)
{
	fprintf(out,
		",\n\"hot\":{\"phi\":%.17g,\"by\":\"%s\",\"n\":%llu,\"least\":%llu,\"weight\":%llu,"
		"\"contexts\":%zu,\"callers\":%zu,\"removed\":%zu,\"epsilon\":%.17g}",
		h->phi, h->by_total ? "total" : "self", (unsigned long long)h->n,
		(unsigned long long)h->least, (unsigned long long)h->hot, h->hot_nodes, h->callers,
		h->removed, h->epsilon);
}

static void put_summary(const struct recording_hot *s, FILE *out)
{
	fprintf(out,
		",\n\"summary\":{\"phi\":%.17g,\"epsilon\":%.17g,\"n\":%llu,\"samples\":%llu,"
		"\"offset\":%llu,\"counters\":%llu,\"unkept\":%llu,\"per_thread\":%s}",
		s->phi, s->epsilon, (unsigned long long)s->weight, (unsigned long long)s->samples,
		(unsigned long long)s->offset, (unsigned long long)s->counters,
		(unsigned long long)s->unkept, s->per_thread ? "true" : "false");
}

int format_json(const struct profile *p, const struct format_options *o, FILE *out)
{
	int r;

	fputs("{\"format\":\"pcce-report\",\"version\":1,\n\"event\":", out);
	r = write_json_value(json_clean_string(p->event), out);
	fputs(",\n\"command\":", out);
	r = r ? r : write_json_value(json_clean_string(p->command), out);
	fputs(",\n\"sampler\":", out);
	r = r ? r : write_json_value(json_clean_string(p->sampler), out);
	fprintf(out, ",\n\"frequency\":%llu,\n\"stats\":", (unsigned long long)p->frequency);
	r = r ? r : write_json_value(stats_object(p), out);
	if (p->summary.phi > 0)
		put_summary(&p->summary, out);
	if (p->hot.phi > 0)
		put_hot_summary(&p->hot, out);
	fputs(",\n\"modules\":[", out);
	for (uint32_t i = 0; !r && i < symbol_table_modules(p->names); i++) {
		fputs(i ? "," : "", out);
		r = write_json_value(json_clean_string(symbol_table_path(p->names, i)), out);
	}
	fputs("],\n\"nodes\":[\n", out);
	r = r ? r : json_put_nodes(p, o, out);
	fputs("\n]}\n", out);
	return r;
}

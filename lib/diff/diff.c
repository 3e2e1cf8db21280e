/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Merges two profiles into one tree, after checking whether they are from one build. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "diff/diff.h"
#include "format/format.h"
#include "symbols/short_names.h"

/* ---- comparing builds ------------------------------------------------------------ */

static bool same_bytes(const struct encoding_table *a, const struct encoding_table *b)
{
	return a->head->size == b->head->size && a->head->crc == b->head->crc;
}

/* Returns the module of `now` that corresponds to this module of `before`; UINT32_MAX: none. */
static uint32_t find_counterpart(const struct diff *d, uint32_t module)
{
	const struct symbol_table *was = d->before->names, *is = d->now->names;
	char id[SYMBOL_TABLE_BUILD_ID], other[SYMBOL_TABLE_BUILD_ID];

	symbol_table_build_id_text(was, module, id);
	for (uint32_t i = 0; i < symbol_table_modules(is); i++) {
		symbol_table_build_id_text(is, i, other);
		if (!strcmp(id, other) &&
		    (*id || !strcmp(symbol_table_path(was, module), symbol_table_path(is, i))))
			return i;
	}
	return UINT32_MAX;
}

/* Checks that all modules with contexts exist in both recordings and are encoded equally. */
static void compare_builds(struct diff *d)
{
	const struct symbol_table *was = d->before->names;
	bool any = false;

	for (uint32_t i = 0; i < symbol_table_modules(was); i++) {
		const struct encoding_table *t = symbol_table_table(was, i), *other;
		uint32_t now = t ? find_counterpart(d, i) : UINT32_MAX;

		if (!t)
			continue;
		other = now == UINT32_MAX ? NULL : symbol_table_table(d->now->names, now);
		if (!other || !same_bytes(t, other)) {
			const uint8_t *id;

			snprintf(d->other, sizeof(d->other), "%s %s", symbol_table_base(was, i),
				 other && symbol_table_build_id(was, i, &id) ? "was encoded again"
									     : "is another build");
			return;
		}
		any = true;
	}
	if (!any)
		snprintf(d->other, sizeof(d->other), "no encoded program is in both recordings");
}

/* Gives the functions of both profiles names for people. */
static int shorten_joint_names(struct diff *d)
{
	uint32_t n = cct_key_count(&d->tree), *names = malloc(n * sizeof(*names) + 1);
	int r = names ? 0 : -ENOMEM;

	for (uint32_t i = 0; !r && i < n; i++)
		names[i] = cct_key(&d->tree, i)->name;
	r = r ? r : short_names_choose(d->names, names, n);
	free(names);
	return r;
}

/* ---- merging --------------------------------------------------------------------- */

/*
 * Finds the suffixes that GCC adds to the names of copies of a function (name.isra.0,
 * name.constprop.0; in C++ "name() [clone .isra.0]") and of its parts (name.part.0, name.cold).
 * Returns the length of the name without them. *part: whether it is a part.
 */
static size_t without_clone(const char *name, bool *part)
{
	static const char *const words[] = {"isra", "constprop", "lto_priv", "part", "cold"};
	const char *end = name + strlen(name);

	*part = false;
	for (const char *dot = strchr(name, '.'); dot && dot > name; dot = strchr(dot + 1, '.')) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			size_t n = strlen(words[i]);

			if (strncmp(dot + 1, words[i], n) ||
			    (dot[n + 1] && !strchr(".]", dot[n + 1])))
				continue;
			*part |= i >= 3;
			if (dot < end)
				end = dot;
		}
	}
	if (end - name > 8 && !strncmp(end - 8, " [clone ", 8) && *end)
		end -= 8;
	return end - name;
}

static uint32_t joint_name(struct diff *d, const struct profile *p, uint32_t name)
{
	const char *text = symbol_table_string(p->names, name);
	bool part;
	size_t n = d->by_names ? without_clone(text, &part) : strlen(text);
	char *copy;

	if (!text[n])
		return p == d->now ? name : symbol_table_intern(d->names, text);
	copy = strndup(text, n);
	name = copy ? symbol_table_intern(d->names, copy) : UINT32_MAX;
	free(copy);
	return name;
}

/* Whether this is a part of the function that calls it. */
static bool is_part_of(const struct profile *p, const struct cct_key *key,
		       const struct cct_key *joint, const struct cct_node *caller)
{
	bool part;

	without_clone(symbol_table_string(p->names, key->name), &part);
	return part && joint->name == caller->key->name;
}

static const struct cct_key *joint_key(struct diff *d, const struct profile *p,
				       const struct cct_key *from)
{
	struct cct_key key = *from;

	if (!d->by_repetitions)
		key.repeat = key.repeat != 0;
	key.name = joint_name(d, p, key.name);
	if (p != d->now) {
		key.file = symbol_table_intern(d->names, symbol_table_string(p->names, key.file));
		if (key.module != UINT32_MAX)
			key.module = find_counterpart(d, key.module);
	}
	if (d->by_names) {
		key.call = key.line = key.file = key.func = 0;
		key.kind = key.flags = 0;
		key.module = UINT32_MAX;
	}
	return key.name == UINT32_MAX || key.file == UINT32_MAX ? NULL : cct_intern(&d->tree, &key);
}

static int add_profile_nodes(struct diff *d, const struct profile *p, const struct cct_key **keys,
			     uint32_t *map, size_t *capacity)
{
	map[0] = 0;
	for (size_t i = 0; i < p->tree.n; i++) {
		const struct cct_node *n = &p->tree.nodes[i];
		const struct cct_key **key = &keys[n->key->number];

		if (i) {
			if (!*key)
				*key = joint_key(d, p, n->key);
			if (*key && d->by_names &&
			    is_part_of(p, n->key, *key, &d->tree.nodes[map[n->parent]]))
				map[i] = map[n->parent];
			else
				map[i] = *key ? cct_child_of(&d->tree, map[n->parent], *key)
					      : UINT32_MAX;
			if (map[i] == UINT32_MAX)
				return -ENOMEM;
		}
		if (array_reach(&d->was, capacity, d->tree.n - 1, 64, sizeof(*d->was)))
			return -ENOMEM;
		if (p == d->now)
			d->tree.nodes[map[i]].self += n->samples;
		else
			d->was[map[i]].self += n->samples;
	}
	return 0;
}

static int add_profile(struct diff *d, const struct profile *p, size_t *capacity)
{
	const struct cct_key **keys = calloc(cct_key_count(&p->tree), sizeof(*keys));
	uint32_t *map = malloc(p->tree.n * sizeof(*map));
	int r = keys && map ? add_profile_nodes(d, p, keys, map, capacity) : -ENOMEM;

	free(keys);
	free(map);
	return r;
}

/* Returns the mean value of a sample. */
static double sample_value(const struct profile *p, const char **unit, const char **what)
{
	struct format_unit u = format_unit(p);
	double weight = (double)p->tree.nodes[0].total * (double)u.scale;

	*unit = u.clock ? "ms" : "";
	*what = u.clock ? "time" : u.bytes ? "bytes" : "events";
	return p->stats.samples ? weight / (double)p->stats.samples / (u.clock ? 1e6 : 1) : 0;
}

int diff_new(const struct profile *before, const struct profile *now, enum diff_by by,
	     struct diff *d)
{
	size_t capacity = 0;
	int r;

	*d = (struct diff){.before = before, .now = now, .names = now->names};
	d->value_was = sample_value(before, &d->unit, &d->what);
	d->value_is = sample_value(now, &d->unit, &d->what);
	compare_builds(d);
	d->by_names = by == DIFF_BY_NAMES || (by != DIFF_BY_CALLS && *d->other);
	d->by_repetitions = by == DIFF_BY_CONTEXTS && !d->by_names;
	r = cct_init(&d->tree);
	r = r ? r : add_profile(d, now, &capacity);
	r = r ? r : add_profile(d, before, &capacity);
	for (size_t i = 0; i < d->tree.n && !r; i++)
		d->was[i].total = d->was[i].self;
	for (size_t i = d->tree.n; i-- > 1 && !r;)
		d->was[d->tree.nodes[i].parent].total += d->was[i].total;
	r = r ? r : cct_finish(&d->tree, d->names);
	r = r ? r : shorten_joint_names(d);
	if (r)
		diff_free(d);
	return r;
}

void diff_free(struct diff *d)
{
	cct_free(&d->tree);
	free(d->was);
	*d = (struct diff){0};
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Checks an encoding table and looks things up in it, by binary search.
 *
 * encoding_table_open() makes all checks once: the layout, every index, and every order that a
 * binary search relies on. It also checks, with Kahn's algorithm, that the edges have no cycle, so
 * that decoding along them ends. A table that passed may be wrong about its program, but no
 * function reads outside it or loops in it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <pcce/abi.h>
#include <pcce/sites.h>
#include "base/sorted.h"
#include "elf/encoding_table.h"

/* edges that encoding_table_tail_path() follows before it gives up */
#define TAIL_STEPS_MAX 4096
#define COUNT_MAX (1u << 31)

#define REFUSE(...) return error_set(why, -EINVAL, __VA_ARGS__)

struct layout_item {
	const struct pcce_table_array *array;
	size_t element;
	const char *name;
	const void **out;
};

/* The arrays of hybrid encoding; without it, there are none. */
static const struct pcce_table_hybrid *hybrid_of(const struct pcce_table *h)
{
	static const struct pcce_table_hybrid none;

	return h->flags & PCCE_TABLE_HYBRID ? (const void *)(h + 1) : &none;
}

static int check_layout(const char *data, size_t size, struct encoding_table *t, struct error *why)
{
	const struct pcce_table *h = (const void *)data;
	const struct pcce_table_hybrid *y = hybrid_of(h);
	const struct layout_item items[] = {
		{&h->funcs, sizeof(*t->funcs), "functions", (const void **)&t->funcs},
		{&h->parts, sizeof(*t->parts), "parts", (const void **)&t->parts},
		{&h->sites, sizeof(*t->sites), "sites", (const void **)&t->sites},
		{&h->edges, sizeof(*t->edges), "edges", (const void **)&t->edges},
		{&h->tails, sizeof(*t->tails), "tail calls", (const void **)&t->tails},
		{&h->helpers, sizeof(*t->helpers), "helpers", (const void **)&t->helpers},
		{&h->landings, sizeof(*t->landings), "landings", (const void **)&t->landings},
		{&h->strings, 1, "strings", (const void **)&t->strings},
		{&y->frames, sizeof(*t->frames), "frames", (const void **)&t->frames},
		{&y->implicit, sizeof(*t->implicit), "contexts", (const void **)&t->implicit},
	};
	size_t n_items = sizeof(items) / sizeof(items[0]) - (h->flags & PCCE_TABLE_HYBRID ? 0 : 2);

	t->n_frames = y->frames.count;
	t->n_implicit = y->implicit.count;
	for (size_t i = 0; i < n_items; i++) {
		uint64_t offset = items[i].array->offset, count = items[i].array->count;

		if (count > COUNT_MAX || offset < h->header_size || offset > size || offset % 8 ||
		    count > (size - offset) / items[i].element)
			REFUSE("is damaged: its %s lie outside", items[i].name);
		*items[i].out = data + offset;
	}
	if (!h->strings.count || t->strings[0] || t->strings[h->strings.count - 1])
		REFUSE("is damaged: its strings do not end");
	return 0;
}

static int check_table_header(const void *data, size_t size, struct error *why)
{
	const struct pcce_table *h = data;
	const size_t field = offsetof(struct pcce_table, crc);
	static const unsigned char zero[4];

	if (size < 16)
		REFUSE("is cut off after %zu bytes", size);
	if (h->magic != PCCE_TABLE_MAGIC)
		REFUSE("is not an encoding table");
	if (h->version != PCCE_TABLE_VERSION)
		REFUSE("has version %u, but this is version %u", h->version, PCCE_TABLE_VERSION);
	if (size < sizeof(*h))
		REFUSE("is cut off after %zu bytes", size);
	if (h->header_size !=
	    sizeof(*h) + (h->flags & PCCE_TABLE_HYBRID ? sizeof(struct pcce_table_hybrid) : 0))
		REFUSE("is damaged: its header has %u bytes", h->header_size);
	if (h->size > size)
		REFUSE("is cut off after %zu of %llu bytes", size, (unsigned long long)h->size);
	if (h->size < h->header_size)
		REFUSE("is damaged: its size is %llu bytes", (unsigned long long)h->size);
	uLong crc = crc32_z(0, data, field);

	crc = crc32_z(crc, zero, sizeof(zero));
	crc = crc32_z(crc, (const unsigned char *)data + field + 4, h->size - field - 4);
	if (crc != h->crc)
		REFUSE("is damaged: its checksum does not match");
	return 0;
}

static int check_functions(const struct encoding_table *t, struct error *why)
{
	const struct pcce_table *h = t->head;
	uint64_t next_edge = 0;

	for (uint64_t i = 0; i < h->funcs.count; i++) {
		const struct pcce_table_func *f = &t->funcs[i];

		if (i && f->addr <= t->funcs[i - 1].addr)
			REFUSE("is damaged: its functions are not in order");
		if (f->name >= h->strings.count)
			REFUSE("is damaged: a function's name lies outside");
		if (!f->num_cc || f->num_cc > PCCE_ID_LIMIT)
			REFUSE("is damaged: a function has an impossible number of contexts");
		if (f->first_edge != next_edge || f->n_edges > h->edges.count - next_edge)
			REFUSE("is damaged: a function's edges lie outside");
		next_edge += f->n_edges;
	}
	if (next_edge != h->edges.count)
		REFUSE("is damaged: edges belong to no function");
	for (uint64_t i = 0; i < h->parts.count; i++) {
		const struct pcce_table_part *p = &t->parts[i];

		if (p->func >= h->funcs.count)
			REFUSE("is damaged: a part belongs to no function");
		if (p->addr + p->length < p->addr)
			REFUSE("is damaged: a part has an impossible length");
		if (i && p->addr < t->parts[i - 1].addr + t->parts[i - 1].length)
			REFUSE("is damaged: its parts overlap");
	}
	for (uint64_t i = 0; i < h->helpers.count; i++) {
		const struct pcce_table_helper *p = &t->helpers[i];

		if (p->state > PCCE_HELPER_LAST || p->addr + p->length < p->addr ||
		    (i && p->addr < t->helpers[i - 1].addr + t->helpers[i - 1].length))
			REFUSE("is damaged: its helpers are not in order");
	}
	for (uint64_t i = 0; i < h->tails.count; i++) {
		const struct pcce_table_tail *p = &t->tails[i];

		if (p->from >= h->funcs.count || p->to >= h->funcs.count ||
		    (i && (p->from < p[-1].from || (p->from == p[-1].from && p->to <= p[-1].to))))
			REFUSE("is damaged: its tail calls are not in order");
	}
	return 0;
}

static int check_table_sites(const struct encoding_table *t, struct error *why)
{
	const struct pcce_table *h = t->head;

	for (uint64_t i = 0; i < h->sites.count; i++) {
		const struct pcce_table_site *s = &t->sites[i];
		uint32_t before_slot = s->before + s->restore_len;

		if (i && s->key <= t->sites[i - 1].key)
			REFUSE("is damaged: its sites are not in order");
		if (s->key >> PCCE_SITE_BITS || s->before > s->key || s->ret > INT32_MAX ||
		    s->before > INT32_MAX)
			REFUSE("is damaged: a site has an impossible address");
		if (s->func >= h->funcs.count ||
		    (s->callee != PCCE_NONE && s->callee >= h->funcs.count) ||
		    s->callee_name >= h->strings.count)
			REFUSE("is damaged: a site belongs to no function");
		if (s->kind > PCCE_KIND_RESTORE || s->claim > before_slot ||
		    s->applied > before_slot || s->claim > s->applied || s->undone > s->after_len ||
		    s->restore_len > s->ret)
			REFUSE("is damaged: a site has an impossible slot");
		if (s->value >= PCCE_ID_LIMIT || (s->kind != PCCE_KIND_ADD && s->value))
			REFUSE("is damaged: a site has an impossible value");
	}
	return 0;
}

static int check_hybrid(const struct encoding_table *t, struct error *why)
{
	for (uint64_t i = 1; i < t->n_frames; i++)
		if (t->frames[i].addr < t->frames[i - 1].addr)
			REFUSE("is damaged: its frames are not in order");
	for (uint64_t i = 0; i < t->n_implicit; i++) {
		const struct pcce_table_implicit *c = &t->implicit[i];

		if (i &&
		    (c->func < c[-1].func || (c->func == c[-1].func && c->depth <= c[-1].depth)))
			REFUSE("is damaged: its contexts are not in order");
		if (c->func >= t->head->funcs.count ||
		    (c->site != PCCE_NONE && c->site >= t->head->sites.count))
			REFUSE("is damaged: a context belongs to no function");
	}
	return 0;
}

static int check_landings(const struct encoding_table *t, struct error *why)
{
	for (uint64_t i = 0; i < t->head->landings.count; i++) {
		const struct pcce_table_landing *l = &t->landings[i];

		if (l->site >= t->head->sites.count || (i && l->site <= l[-1].site))
			REFUSE("is damaged: its landings are not in order");
		if (l->pad >= t->head->sites.count || t->sites[l->pad].kind != PCCE_KIND_RESTORE ||
		    t->sites[l->pad].func != t->sites[l->site].func)
			REFUSE("is damaged: an exception lands where nothing is restored");
	}
	return 0;
}

static int check_edges(const struct encoding_table *t, struct error *why)
{
	for (uint64_t i = 0; i < t->head->funcs.count; i++) {
		const struct pcce_table_func *f = &t->funcs[i];
		uint64_t end = f->flags & PCCE_FUNC_ROOT ? 1 : 0;

		for (uint32_t k = f->first_edge; k < f->first_edge + f->n_edges; k++) {
			const struct pcce_table_edge *e = &t->edges[k];

			if (e->value >= PCCE_ID_LIMIT || e->value < end)
				REFUSE("is damaged: ids of a function overlap");
			end = e->value + 1;
			if (e->site == PCCE_NONE) {
				if (e->tail >= t->head->funcs.count ||
				    !(t->funcs[e->tail].flags & PCCE_FUNC_ENTERED) ||
				    end > f->num_cc)
					REFUSE("is damaged: an edge begins nowhere");
				continue;
			}
			if (e->site >= t->head->sites.count)
				REFUSE("is damaged: an edge belongs to no site");
			const struct pcce_table_site *s = &t->sites[e->site];

			if (s->kind != (e->value ? PCCE_KIND_ADD : PCCE_KIND_NONE) ||
			    s->value != e->value)
				REFUSE("is damaged: an edge does not match its site");
			end = e->value + t->funcs[s->func].num_cc;
			if (end > f->num_cc)
				REFUSE("is damaged: an edge leaves the ids of its function");
		}
	}
	return 0;
}

/* Checks that the edges have no cycle: Kahn's algorithm, from callers to callees. */
static int check_acyclic(const struct encoding_table *t, struct error *why)
{
	uint64_t n = t->head->funcs.count, done = 0, ready = 0;
	uint32_t *first = calloc(n + 2, sizeof(*first)),
		 *callee = malloc((t->head->edges.count + 1) * sizeof(*callee));
	uint32_t *left = malloc((n + 1) * sizeof(*left)), *queue = malloc((n + 1) * sizeof(*queue));

	if (!first || !callee || !left || !queue) {
		done = n + 1;
		goto out;
	}
	for (uint64_t i = 0; i < t->head->edges.count; i++)
		if (t->edges[i].site != PCCE_NONE)
			first[t->sites[t->edges[i].site].func + 2]++;
	for (uint64_t i = 0; i < n; i++)
		first[i + 2] += first[i + 1];
	for (uint64_t i = 0; i < n; i++) {
		const struct pcce_table_func *f = &t->funcs[i];

		left[i] = 0;
		for (uint32_t k = f->first_edge; k < f->first_edge + f->n_edges; k++) {
			if (t->edges[k].site == PCCE_NONE)
				continue;
			callee[first[t->sites[t->edges[k].site].func + 1]++] = i;
			left[i]++;
		}
		if (!left[i])
			queue[ready++] = i;
	}
	for (; done < ready; done++)
		for (uint32_t k = first[queue[done]]; k < first[queue[done] + 1]; k++)
			if (--left[callee[k]] == 0)
				queue[ready++] = callee[k];
out:
	free(first);
	free(callee);
	free(left);
	free(queue);
	if (done > n)
		return -ENOMEM;
	if (done < n)
		REFUSE("is damaged: its edges go round in a circle");
	return 0;
}

static uint64_t site_start(const struct encoding_table *t, uint32_t site)
{
	return t->sites[site].key - t->sites[site].before;
}

static uint64_t site_end(const struct encoding_table *t, uint32_t site)
{
	return t->sites[site].key + t->sites[site].ret + t->sites[site].after_len;
}

struct start {
	uint64_t start;
	uint32_t site;
	bool restore;
};

static int compare_slot_starts(const void *pa, const void *pb)
{
	const struct start *a = pa, *b = pb;

	if (a->restore != b->restore)
		return a->restore ? 1 : -1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static int order_by_before(struct encoding_table *t, struct error *why)
{
	uint64_t n = t->head->sites.count;
	struct start *starts = malloc((n + 1) * sizeof(*starts));

	t->by_before = malloc((n + 1) * sizeof(*t->by_before));
	if (!t->by_before || !starts) {
		free(starts);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < n; i++) {
		bool restore = t->sites[i].kind == PCCE_KIND_RESTORE;

		starts[i] = (struct start){site_start(t, i), i, restore};
		t->n_by_before += !restore;
	}
	qsort(starts, n, sizeof(*starts), compare_slot_starts);
	for (uint64_t i = 0; i < n; i++)
		t->by_before[i] = starts[i].site;
	free(starts);
	for (uint64_t i = 1; i < n; i++)
		if (i != t->n_by_before &&
		    site_start(t, t->by_before[i]) < site_end(t, t->by_before[i - 1]))
			REFUSE("is damaged: its sites overlap");
	return 0;
}

static int find_leavers(struct encoding_table *t)
{
	uint64_t n = t->head->funcs.count;

	t->leavers = malloc((n + 1) * sizeof(*t->leavers));
	t->exits = calloc(n + 1, sizeof(*t->exits));
	if (!t->leavers || !t->exits)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (t->funcs[i].flags & PCCE_FUNC_TAIL_OUT && t->funcs[i].flags & PCCE_FUNC_ROOT)
			t->leavers[t->n_leavers++] = i;
	for (uint64_t i = 0; i < t->head->sites.count; i++)
		if (t->sites[i].kind == PCCE_KIND_TAIL && t->sites[i].callee == PCCE_NONE)
			t->exits[t->sites[i].func] = true;
	return 0;
}

int encoding_table_open(const void *data, size_t size, struct encoding_table *out,
			struct error *why)
{
	int err;

	memset(out, 0, sizeof(*out));
	if ((uintptr_t)data % 8)
		REFUSE("is not aligned");
	err = check_table_header(data, size, why);
	if (err)
		return err;
	out->head = data;
	err = check_layout(data, out->head->size, out, why);
	if (!err)
		err = check_functions(out, why);
	if (!err)
		err = check_table_sites(out, why);
	if (!err)
		err = check_hybrid(out, why);
	if (!err)
		err = check_landings(out, why);
	if (!err)
		err = check_edges(out, why);
	if (!err)
		err = check_acyclic(out, why);
	if (!err)
		err = order_by_before(out, why);
	if (!err)
		err = find_leavers(out);
	if (err)
		encoding_table_close(out);
	if (err == -ENOMEM)
		error_set(why, 0, "needs more memory than is available");
	return err;
}

void encoding_table_close(struct encoding_table *t)
{
	free(t->by_before);
	free(t->leavers);
	free(t->exits);
	memset(t, 0, sizeof(*t));
}

uint32_t encoding_table_func_at(const struct encoding_table *t, uint64_t vaddr)
{
	int64_t at = (int64_t)SORTED_COUNT(i, t->head->parts.count, t->parts[i].addr <= vaddr) - 1;

	if (at < 0 || vaddr - t->parts[at].addr >= t->parts[at].length)
		return PCCE_NONE;
	return t->parts[at].func;
}

bool encoding_table_in_entry(const struct encoding_table *t, uint32_t func, uint64_t vaddr)
{
	return vaddr - t->funcs[func].addr < t->funcs[func].entry;
}

uint32_t encoding_table_site_by_key(const struct encoding_table *t, uint64_t key)
{
	int64_t at = (int64_t)SORTED_COUNT(i, t->head->sites.count, t->sites[i].key <= key) - 1;

	return at < 0 || t->sites[at].key != key ? PCCE_NONE : (uint32_t)at;
}

static uint32_t find_site_around(const struct encoding_table *t, const uint32_t *sites, uint64_t n,
				 uint64_t vaddr)
{
	int64_t at = (int64_t)SORTED_COUNT(i, n, site_start(t, sites[i]) <= vaddr) - 1;

	return at < 0 || vaddr >= site_end(t, sites[at]) ? PCCE_NONE : sites[at];
}

uint32_t encoding_table_site_around(const struct encoding_table *t, uint64_t vaddr)
{
	uint32_t n = t->n_by_before,
		 site = find_site_around(t, t->by_before + n, t->head->sites.count - n, vaddr);

	return site != PCCE_NONE ? site : find_site_around(t, t->by_before, n, vaddr);
}

const struct pcce_table_helper *encoding_table_helper_at(const struct encoding_table *t,
							 uint64_t vaddr)
{
	int64_t at =
		(int64_t)SORTED_COUNT(i, t->head->helpers.count, t->helpers[i].addr <= vaddr) - 1;

	return at < 0 || vaddr - t->helpers[at].addr >= t->helpers[at].length ? NULL
									      : &t->helpers[at];
}

const char *encoding_table_string(const struct encoding_table *t, uint32_t offset)
{
	return offset < t->head->strings.count ? t->strings + offset : "";
}

uint32_t encoding_table_landing(const struct encoding_table *t, uint32_t site)
{
	int64_t at =
		(int64_t)SORTED_COUNT(i, t->head->landings.count, t->landings[i].site <= site) - 1;

	return at < 0 || t->landings[at].site != site ? PCCE_NONE : t->landings[at].pad;
}

uint32_t encoding_table_in_edge(const struct encoding_table *t, uint32_t func, uint64_t id)
{
	const struct pcce_table_func *f = &t->funcs[func];
	const struct pcce_table_edge *e = t->edges + f->first_edge;
	int64_t at = (int64_t)SORTED_COUNT(i, f->n_edges, e[i].value <= id) - 1;

	if (at < 0 ||
	    id - e[at].value >=
		    (e[at].site == PCCE_NONE ? 1 : t->funcs[t->sites[e[at].site].func].num_cc))
		return PCCE_NONE;
	return f->first_edge + (uint32_t)at;
}

uint32_t encoding_table_frame(const struct encoding_table *t, uint64_t vaddr)
{
	uint64_t from = vaddr - t->head->base;
	size_t n = SORTED_COUNT(i, t->n_frames, t->frames[i].addr <= from);

	return n ? t->frames[n - 1].size : PCCE_NONE;
}

const struct pcce_table_implicit *encoding_table_implicit(const struct encoding_table *t,
							  uint32_t func, uint32_t depth)
{
	size_t i = SORTED_COUNT(k, t->n_implicit,
				t->implicit[k].func < func || (t->implicit[k].func == func &&
							       t->implicit[k].depth < depth));

	return i < t->n_implicit && t->implicit[i].func == func && t->implicit[i].depth == depth
		       ? &t->implicit[i]
		       : NULL;
}

bool encoding_table_has_base(const struct encoding_table *t, uint64_t vaddr, uint64_t ext)
{
	uint32_t func = encoding_table_func_at(t, vaddr), site;

	if (func == PCCE_NONE || !(t->funcs[func].flags & PCCE_FUNC_DEPTH) || ext)
		return false;
	site = encoding_table_site_around(t, vaddr);
	if (site != PCCE_NONE &&
	    (t->sites[site].kind == PCCE_KIND_RESTORE || t->sites[site].flags & PCCE_SITE_OFFSET))
		return false;
	/* The instruction behind such an after-slot puts the base back. */
	site = encoding_table_site_around(t, vaddr - 1);
	return site == PCCE_NONE || !(t->sites[site].flags & PCCE_SITE_OFFSET) ||
	       !t->sites[site].after_len || site_end(t, site) != vaddr;
}

uint64_t encoding_table_first_tail(const struct encoding_table *t, uint32_t from)
{
	return SORTED_COUNT(i, t->head->tails.count, t->tails[i].from < from);
}

struct tail_search {
	const struct encoding_table *t;
	uint32_t *path, *found;
	uint32_t from;
	int max, n_found, steps; /* n_found: -1 none so far, -2 more than one */
};

static void follow_tails(struct tail_search *s, uint32_t from, uint32_t to, int depth)
{
	for (uint64_t at = encoding_table_first_tail(s->t, from);
	     at < s->t->head->tails.count && s->t->tails[at].from == from; at++) {
		uint32_t next = s->t->tails[at].to;
		bool repeated = next == s->from;

		if (s->n_found == -2 || ++s->steps > TAIL_STEPS_MAX) {
			s->n_found = -2;
			return;
		}
		if (next == to) {
			if (s->n_found != -1) {
				s->n_found = -2;
				return;
			}
			s->n_found = depth;
			if (depth)
				memcpy(s->found, s->path, depth * sizeof(*s->path));
			continue;
		}
		/* A path that is too long to report could be a second one. */
		if (depth == s->max) {
			s->n_found = -2;
			return;
		}
		for (int k = 0; k < depth; k++)
			repeated |= s->path[k] == next;
		if (repeated)
			continue;
		s->path[depth] = next;
		follow_tails(s, next, to, depth + 1);
	}
}

int encoding_table_tail_path(const struct encoding_table *t, uint32_t from, uint32_t to,
			     uint32_t *funcs, int max)
{
	struct tail_search s = {
		.t = t, .found = funcs, .from = from, .max = max > 64 ? 64 : max, .n_found = -1};
	uint32_t path[64];

	s.path = path;
	follow_tails(&s, from, to, 0);
	return s.n_found < 0 ? -1 : s.n_found;
}

int encoding_table_exit_path(const struct encoding_table *t, uint32_t from, uint32_t *funcs,
			     int max)
{
	int n = 0;

	while (n < max && !t->exits[from]) {
		uint32_t next = PCCE_NONE;

		for (uint64_t i = encoding_table_first_tail(t, from);
		     i < t->head->tails.count && t->tails[i].from == from; i++) {
			uint32_t to = t->tails[i].to;

			if (!(t->funcs[to].flags & PCCE_FUNC_TAIL_OUT) || to == next)
				continue;
			if (next != PCCE_NONE)
				return n;
			next = to;
		}
		if (next == PCCE_NONE)
			return n;
		funcs[n++] = from = next;
	}
	return n;
}

void *encoding_table_missing(size_t *size)
{
	struct pcce_table head = {
		.magic = PCCE_TABLE_MAGIC,
		.version = PCCE_TABLE_VERSION,
		.header_size = sizeof(head),
		.size = sizeof(head) + 8,
		.flags = PCCE_TABLE_MISSING,
	};
	struct pcce_table_array *const arrays[] = {&head.funcs,	  &head.parts,	 &head.sites,
						   &head.edges,	  &head.tails,	 &head.helpers,
						   &head.strings, &head.landings};
	void *table = calloc(1, head.size);

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		arrays[i]->offset = sizeof(head);
	head.strings.count = 1;
	*size = head.size;
	if (!table)
		return NULL;
	memcpy(table, &head, sizeof(head));
	((struct pcce_table *)table)->crc = (uint32_t)crc32_z(0, table, head.size);
	return table;
}

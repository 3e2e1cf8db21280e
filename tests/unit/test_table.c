/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes an encoding table, reads it back, and damages it in thousands of ways. A damaged table
 * must be refused or harmless: every lookup function is called with all arguments that it can get.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <pcce/abi.h>
#include <pcce/sites.h>
#include "tests/unit/tap.h"
#include "elf/encoding_table.h"
#include "encode/table_write.h"

enum { MAIN, A, B, LEAF, TAIL1, TAIL2, N_FUNCS };

static struct callgraph_func funcs[N_FUNCS] = {
	{.addr = 0x1000, .name = "main", .block_flags = 0, .root = true},
	{.addr = 0x1100, .name = "a", .block_flags = 0, .root = false},
	{.addr = 0x1200, .name = "b", .block_flags = PCCE_BLOCK_RESTORES, .root = false},
	{.addr = 0x1300, .name = "leaf", .block_flags = 0, .root = false},
	{.addr = 0x1400, .name = "tail1", .block_flags = 0, .root = false},
	{.addr = 0x1500, .name = "tail2", .block_flags = 0, .root = false},
};
static struct callgraph_part parts[] = {
	{0x900, 0x40, MAIN},  {0x1000, 0x80, MAIN},  {0x1100, 0x80, A},	    {0x1200, 0x80, B},
	{0x1300, 0x80, LEAF}, {0x1400, 0x80, TAIL1}, {0x1500, 0x80, TAIL2},
};

#define CALL(at, from, to, where)                                                                \
	{                                                                                        \
		.before = at, .before_len = 13, .after = at + 18, .after_len = 13, .func = from, \
		.callee = to, .target = where, .freq = 1024, .line = at & 0xff                   \
	}

static struct callgraph_site sites[] = {
	CALL(0x1000, MAIN, A, CALLGRAPH_INSIDE),
	CALL(0x1020, MAIN, B, CALLGRAPH_INSIDE),
	CALL(0x1100, A, LEAF, CALLGRAPH_INSIDE),
	CALL(0x1200, B, LEAF, CALLGRAPH_INSIDE),
	CALL(0x1220, B, TAIL1, CALLGRAPH_INSIDE),
	CALL(0x1240, B, PCCE_NONE, CALLGRAPH_OUTSIDE),
	{.before = 0x1420,
	 .after = 0x1425,
	 .flags = PCCE_SITE_TAIL,
	 .func = TAIL1,
	 .callee = TAIL2,
	 .target = CALLGRAPH_INSIDE},
	{.before = 0x1252,
	 .after = 0x1270,
	 .flags = PCCE_SITE_RESTORE,
	 .func = B,
	 .target = CALLGRAPH_NONE,
	 .landing = 0x1252,
	 .callee = PCCE_NONE},
};
#define N_SITES (sizeof(sites) / sizeof(sites[0]))

static struct pcce_table_helper helpers[] = {{0x2000, 0x10, PCCE_HELPER_NOTHING},
					     {0x2010, 8, PCCE_HELPER_PUSHED}};

static void *table;
static size_t table_size;
static struct error why;

static bool make_table(void)
{
	struct elf_module m = {.base = 0};
	struct site_records r = {.helpers = helpers, .n_helpers = 2};
	struct patch_page page = {.executable = true, .offset = -4096};
	struct numbering_site graph_sites[N_SITES];
	struct pcce_table_site out[N_SITES];
	uint8_t root[N_FUNCS] = {1};
	struct callgraph cg = {.funcs = funcs,
			       .n_funcs = N_FUNCS,
			       .parts = parts,
			       .n_parts = 7,
			       .sites = sites,
			       .n_sites = N_SITES,
			       .graph_sites = graph_sites};
	struct numbering n;
	struct error fail;
	int err;

	memset(out, 0, sizeof(out));
	cg.graph.n_funcs = N_FUNCS;
	cg.graph.root = root;
	cg.graph.sites = graph_sites;
	sites[5].callee_name = "qsort";
	sites[5].landing = 0x1252;
	for (size_t i = 0; i < N_SITES; i++) {
		struct numbering_site *e = &graph_sites[cg.graph.n_sites];

		sites[i].edge = NUMBERING_NO_CALLEE;
		if (sites[i].target == CALLGRAPH_NONE)
			continue;
		sites[i].edge = cg.graph.n_sites++;
		*e = (struct numbering_site){sites[i].func, sites[i].callee, 0, sites[i].freq};
		if (sites[i].flags & PCCE_SITE_TAIL)
			e->flags = NUMBERING_TAIL;
		else if (sites[i].callee == PCCE_NONE)
			e->flags = NUMBERING_PUSH;
	}
	if (numbering_compute(&cg.graph, NULL, &n))
		return false;
	for (size_t i = 0; i < N_SITES; i++) {
		struct pcce_table_site *s = &out[i];
		bool call = !(sites[i].flags & (PCCE_SITE_TAIL | PCCE_SITE_RESTORE));

		s->key = sites[i].before + sites[i].before_len;
		s->before = sites[i].before_len;
		s->ret = sites[i].after - s->key;
		s->after_len = sites[i].after_len;
		if (sites[i].edge != NUMBERING_NO_CALLEE && n.kind[sites[i].edge] == NUMBERED_VALUE)
			s->value = n.value[sites[i].edge];
		s->kind = sites[i].target == CALLGRAPH_NONE ? PCCE_KIND_RESTORE
			  : !call			    ? PCCE_KIND_TAIL
			  : sites[i].callee == PCCE_NONE    ? PCCE_KIND_PUSH
			  : s->value			    ? PCCE_KIND_ADD
							    : PCCE_KIND_NONE;
		s->claim = s->applied = call ? 12 : 0;
		s->undone = call ? 12 : 0;
	}
	err = table_write(&m, &cg, &n, NULL, &r, &page, out, &table, &table_size, &fail);
	numbering_free(&n);
	return !err;
}

static void test_round_trip(void)
{
	struct encoding_table t;
	uint32_t path[8], edge, site;

	if (!tap_ok(make_table() && !encoding_table_open(table, table_size, &t, &why),
		    "a table is written and read", "%s", why.text))
		return;
	tap_ok(t.head->funcs.count == N_FUNCS && t.head->sites.count == N_SITES &&
		       t.head->tpoff == -4096 && t.head->n_push_sites == 1,
	       "counts", " ");
	tap_ok(encoding_table_func_at(&t, 0x1000) == MAIN &&
		       encoding_table_func_at(&t, 0x93f) == MAIN &&
		       encoding_table_func_at(&t, 0x940) == PCCE_NONE &&
		       encoding_table_func_at(&t, 0) == PCCE_NONE &&
		       encoding_table_func_at(&t, 0x157f) == TAIL2 &&
		       encoding_table_func_at(&t, 0x1580) == PCCE_NONE,
	       "functions by address", " ");
	tap_ok(!strcmp(encoding_table_string(&t, t.funcs[LEAF].name), "leaf") &&
		       !strcmp(encoding_table_string(&t, 0), "") &&
		       !strcmp(encoding_table_string(&t, 0xffffffff), ""),
	       "names", " ");
	site = encoding_table_site_by_key(&t, 0x100d);
	tap_ok(site != PCCE_NONE && t.sites[site].callee == A &&
		       encoding_table_site_by_key(&t, 0x100c) == PCCE_NONE,
	       "sites by key", " ");
	tap_ok(encoding_table_site_around(&t, 0x1000) == site &&
		       encoding_table_site_around(&t, 0x101e) == site &&
		       encoding_table_site_around(&t, 0x101f) == PCCE_NONE &&
		       encoding_table_site_around(&t, 0xfff) == PCCE_NONE,
	       "sites by what their slots hold", " ");
	site = encoding_table_site_around(&t, 0x1255);
	tap_ok(site != PCCE_NONE && t.sites[site].kind == PCCE_KIND_RESTORE &&
		       t.sites[encoding_table_site_around(&t, 0x1251)].kind == PCCE_KIND_PUSH,
	       "a restore window goes before the slot it overlaps", " ");
	tap_ok(encoding_table_landing(&t, site) == site &&
		       encoding_table_landing(&t, encoding_table_site_by_key(&t, 0x124d)) == site &&
		       encoding_table_landing(&t, 0) == PCCE_NONE,
	       "landings", " ");
	tap_ok(encoding_table_helper_at(&t, 0x2017) == &t.helpers[1] &&
		       !encoding_table_helper_at(&t, 0x2018) &&
		       !encoding_table_helper_at(&t, 0x1fff),
	       "helpers", " ");
	tap_ok(t.funcs[LEAF].num_cc == 2 && t.funcs[MAIN].flags == PCCE_FUNC_ROOT &&
		       t.funcs[B].flags == PCCE_FUNC_RESTORES,
	       "function flags", " ");
	edge = encoding_table_in_edge(&t, LEAF, 1);
	tap_ok(edge != PCCE_NONE && t.edges[edge].value == 1 &&
		       encoding_table_in_edge(&t, LEAF, 2) == PCCE_NONE &&
		       encoding_table_in_edge(&t, MAIN, 0) == PCCE_NONE,
	       "edges by id", " ");
	edge = encoding_table_in_edge(&t, TAIL2, 0);
	tap_ok(edge != PCCE_NONE && t.edges[edge].tail == 1 &&
		       t.sites[t.edges[edge].site].callee == TAIL1,
	       "edges by tail calls", " ");
	tap_ok(encoding_table_tail_path(&t, TAIL1, TAIL2, path, 8) == 0 &&
		       encoding_table_tail_path(&t, TAIL2, TAIL1, path, 8) == -1,
	       "tail path", " ");
	encoding_table_close(&t);
}

/* All that a decoder could ask; the sum keeps the compiler from leaving it out. */
static uint64_t use_table(const struct encoding_table *t)
{
	uint64_t sum = 0;
	uint32_t path[4];

	for (uint64_t a = 0x8f0; a < 0x2040; a += 3) {
		const struct pcce_table_helper *h = encoding_table_helper_at(t, a);

		sum += encoding_table_func_at(t, a) + encoding_table_site_by_key(t, a) +
		       encoding_table_site_around(t, a) + (h ? h->state : 0);
	}
	for (uint32_t s = 0; s < t->head->sites.count && s < 32; s++)
		if (encoding_table_landing(t, s) != PCCE_NONE)
			sum += t->sites[encoding_table_landing(t, s)].key;
	for (uint32_t f = 0; f < t->head->funcs.count && f < 32; f++) {
		sum += strlen(encoding_table_string(t, t->funcs[f].name));
		for (uint64_t id = 0; id < 4; id++) {
			uint32_t func = f, edge;
			uint64_t left = id;

			while ((edge = encoding_table_in_edge(t, func, left)) != PCCE_NONE) {
				left -= t->edges[edge].value;
				if (t->edges[edge].site == PCCE_NONE)
					break;
				func = t->sites[t->edges[edge].site].func;
				sum += encoding_table_string(
					t, t->sites[t->edges[edge].site].callee_name)[0];
			}
		}
		for (uint32_t g = 0; g < t->head->funcs.count && g < 32; g++)
			sum += encoding_table_tail_path(t, f, g, path, 4);
	}
	return sum;
}

static void fix_crc(uint8_t *p, size_t size)
{
	struct pcce_table *h = (void *)p;

	h->crc = 0;
	h->crc = crc32_z(0, p, h->size <= size ? h->size : size);
}

static void test_damage(void)
{
	uint8_t *p = malloc(table_size);
	size_t accepted = 0, n = 0;
	volatile uint64_t sum = 0;
	uint64_t seed = 7;
	struct encoding_table t;
	bool good = true;

	for (size_t size = 0; size < table_size; size++) {
		uint8_t *cut = malloc(size ? size : 1);

		memcpy(cut, table, size);
		good = good && encoding_table_open(cut, size, &t, &why) == -22;
		free(cut);
	}
	tap_ok(good, "a table that is cut off is refused", " ");
	good = true;
	for (size_t bit = 0; bit < table_size * 8; bit++) {
		memcpy(p, table, table_size);
		p[bit / 8] ^= 1 << bit % 8;
		good = good && encoding_table_open(p, table_size, &t, &why) == -22;
	}
	tap_ok(good, "every flipped bit is noticed", " ");
	/* With a right checksum, as from a hostile file. */
	for (size_t bit = 0; bit < table_size * 8; bit++, n++) {
		memcpy(p, table, table_size);
		p[bit / 8] ^= 1 << bit % 8;
		fix_crc(p, table_size);
		if (!encoding_table_open(p, table_size, &t, &why)) {
			accepted++;
			sum += use_table(&t);
			encoding_table_close(&t);
		}
	}
	for (int i = 0; i < 30000; i++, n++) {
		memcpy(p, table, table_size);
		for (uint32_t k = 1 + tap_random(&seed) % 4; k; k--) {
			static const uint32_t words[] = {0,	     1,		 0xffffffff,
							 0x7fffffff, 0x80000000, 0x1000};
			size_t at = tap_random(&seed) % (table_size - 4) & ~3u;

			memcpy(p + at,
			       tap_random(&seed) % 2
				       ? &words[tap_random(&seed) % 6]
				       : (uint32_t *)(p + tap_random(&seed) % (table_size - 4)),
			       4);
		}
		fix_crc(p, table_size);
		if (!encoding_table_open(p, table_size, &t, &why)) {
			accepted++;
			sum += use_table(&t);
			encoding_table_close(&t);
		}
	}
	tap_ok(accepted && accepted < n, "damage behind a right checksum is refused or harmless",
	       "%zu of %zu accepted", accepted, n);
	printf("# %zu of %zu accepted\n", accepted, n);
	free(p);
	(void)sum;
}

static void expect(const char *name, void (*change)(uint8_t *p), const char *part)
{
	uint8_t *p = malloc(table_size);
	struct encoding_table t;

	memcpy(p, table, table_size);
	change(p);
	tap_ok(encoding_table_open(p, table_size, &t, &why) == -22 && strstr(why.text, part), name,
	       "%s", why.text);
	free(p);
}

static struct pcce_table *head_of(uint8_t *p)
{
	return (struct pcce_table *)p;
}

static void change_magic(uint8_t *p)
{
	p[0]++;
}

static void change_version(uint8_t *p)
{
	head_of(p)->version--;
}

static void change_text(uint8_t *p)
{
	p[table_size - 9]++;
}

/* A function calls itself with the value 0: consistent as far as ranges go. */
static void make_circle(uint8_t *p)
{
	struct pcce_table *h = head_of(p);
	struct pcce_table_edge *edges = (void *)(p + h->edges.offset);
	struct pcce_table_site *s = (void *)(p + h->sites.offset);

	for (uint64_t i = 0; i < h->edges.count; i++) {
		struct pcce_table_site *site = &s[edges[i].site];

		if (site->callee == TAIL1)
			site->func = TAIL1;
	}
	fix_crc(p, table_size);
}

static void move_landing(uint8_t *p)
{
	struct pcce_table_landing *l = (void *)(p + head_of(p)->landings.offset);

	l->pad = 0;
	fix_crc(p, table_size);
}

int main(void)
{
	test_round_trip();
	if (!table)
		return tap_done();
	test_damage();
	expect("a foreign file", change_magic, "is not an encoding table");
	expect("another version", change_version, "has version 4, but this is version 5");
	expect("a changed byte", change_text, "checksum");
	expect("a landing on a call", move_landing, "nothing is restored");
	expect("edges in a circle", make_circle, "circle");
	free(table);
	return tap_done();
}

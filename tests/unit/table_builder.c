/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <pcce/sites.h>
#include "tests/unit/table_builder.h"

void tb_init(struct table_builder *b)
{
	memset(b, 0, sizeof(*b));
	b->n_strings = 1;
}

uint32_t tb_string(struct table_builder *b, const char *s)
{
	uint32_t at = b->n_strings;

	if (at + strlen(s) + 1 > sizeof(b->strings))
		abort();
	memcpy(b->strings + at, s, strlen(s) + 1);
	b->n_strings += strlen(s) + 1;
	return at;
}

uint32_t tb_func(struct table_builder *b, uint64_t addr, uint32_t length, const char *name,
		 uint32_t flags)
{
	uint32_t i = b->n_funcs++;

	if (i >= TB_MAX)
		abort();
	b->funcs[i] =
		(struct pcce_table_func){.addr = addr, .name = tb_string(b, name), .flags = flags};
	b->parts[i] = (struct pcce_table_part){.addr = addr, .length = length, .func = i};
	return i;
}

uint32_t tb_site(struct table_builder *b, uint64_t start, uint32_t func, enum pcce_site_kind kind,
		 uint32_t callee)
{
	uint32_t i = b->n_sites++;
	struct pcce_table_site *s = &b->sites[i];
	uint8_t work = kind == PCCE_KIND_EXT || kind == PCCE_KIND_PUSH ? 12
		       : kind == PCCE_KIND_ADD			       ? 13
								       : 0;

	if (i >= TB_MAX)
		abort();
	*s = (struct pcce_table_site){
		.key = start + PCCE_SLOT_DIRECT,
		.func = func,
		.callee = callee,
		.before = PCCE_SLOT_DIRECT,
		.ret = 5,
		.kind = kind,
		.claim = work,
		.applied = work,
		.undone = work,
		.after_len = PCCE_SLOT_DIRECT,
	};
	if (kind == PCCE_KIND_RESTORE || kind == PCCE_KIND_TAIL) {
		s->key = start;
		s->before = 0;
		s->after_len = 0;
		s->ret = kind == PCCE_KIND_RESTORE ? 16 : 5;
	}
	return i;
}

uint32_t tb_indirect(struct table_builder *b, uint64_t start, uint32_t func)
{
	uint32_t i = tb_site(b, start, func, PCCE_KIND_PUSH, PCCE_NONE);
	struct pcce_table_site *s = &b->sites[i];

	s->flags = PCCE_SITE_INDIRECT;
	s->key = start + PCCE_SLOT_PUSH;
	s->before = PCCE_SLOT_PUSH;
	s->ret = 2;
	s->claim = 52;
	s->applied = PCCE_SLOT_PUSH;
	s->undone = PCCE_SLOT_POP;
	s->after_len = PCCE_SLOT_POP;
	return i;
}

void tb_edge(struct table_builder *b, uint32_t callee, uint32_t site, uint64_t value, int tail)
{
	uint32_t i = b->n_edges++;

	if (i >= TB_MAX)
		abort();
	b->edges[i] = (struct pcce_table_edge){.value = value, .site = site, .tail = tail};
	b->callees[i] = callee;
	b->sites[site].value = value;
	b->sites[site].kind = value ? PCCE_KIND_ADD : PCCE_KIND_NONE;
	b->sites[site].claim = b->sites[site].applied = b->sites[site].undone = value ? 13 : 0;
}

void tb_tail(struct table_builder *b, uint32_t from, uint32_t to)
{
	b->tails[b->n_tails++] = (struct pcce_table_tail){from, to};
}

void tb_helper(struct table_builder *b, uint64_t addr, uint32_t length, uint32_t state)
{
	b->helpers[b->n_helpers++] = (struct pcce_table_helper){addr, length, state};
}

void tb_landing(struct table_builder *b, uint32_t site, uint32_t pad)
{
	b->landings[b->n_landings++] = (struct pcce_table_landing){site, pad};
}

static void sort_edges(struct table_builder *b)
{
	for (uint32_t i = 1; i < b->n_edges; i++) {
		for (uint32_t j = i; j > 0; j--) {
			struct pcce_table_edge e = b->edges[j];
			uint32_t c = b->callees[j];

			if (b->callees[j - 1] < c ||
			    (b->callees[j - 1] == c && b->edges[j - 1].value <= e.value))
				break;
			b->edges[j] = b->edges[j - 1];
			b->callees[j] = b->callees[j - 1];
			b->edges[j - 1] = e;
			b->callees[j - 1] = c;
		}
	}
}

static void count_contexts(struct table_builder *b)
{
	for (uint32_t i = 0; i < b->n_funcs; i++) {
		struct pcce_table_func *f = &b->funcs[i];

		f->num_cc = 1;
		f->n_edges = 0;
		f->first_edge = 0;
		while (f->first_edge < b->n_edges && b->callees[f->first_edge] < i)
			f->first_edge++;
		while (f->first_edge + f->n_edges < b->n_edges &&
		       b->callees[f->first_edge + f->n_edges] == i)
			f->n_edges++;
	}
	for (uint32_t round = 0; round < b->n_funcs; round++) {
		for (uint32_t i = 0; i < b->n_edges; i++) {
			uint64_t end = b->edges[i].value +
				       b->funcs[b->sites[b->edges[i].site].func].num_cc;

			if (b->funcs[b->callees[i]].num_cc < end)
				b->funcs[b->callees[i]].num_cc = end;
		}
	}
}

static void append(char *table, uint64_t *at, struct pcce_table_array *array, const void *data,
		   size_t element, size_t n)
{
	array->offset = *at;
	array->count = n;
	memcpy(table + *at, data, element * n);
	*at = (*at + element * n + 7) & ~7ULL;
}

void *tb_build(struct table_builder *b, uint32_t flags, size_t *size)
{
	size_t room = sizeof(*b) + sizeof(struct pcce_table) + 64;
	char *table = calloc(1, room);
	struct pcce_table *h = (struct pcce_table *)table;
	uint64_t at = sizeof(*h);

	if (!table)
		abort();
	sort_edges(b);
	count_contexts(b);
	append(table, &at, &h->funcs, b->funcs, sizeof(b->funcs[0]), b->n_funcs);
	append(table, &at, &h->parts, b->parts, sizeof(b->parts[0]), b->n_funcs);
	append(table, &at, &h->sites, b->sites, sizeof(b->sites[0]), b->n_sites);
	append(table, &at, &h->edges, b->edges, sizeof(b->edges[0]), b->n_edges);
	append(table, &at, &h->tails, b->tails, sizeof(b->tails[0]), b->n_tails);
	append(table, &at, &h->helpers, b->helpers, sizeof(b->helpers[0]), b->n_helpers);
	append(table, &at, &h->landings, b->landings, sizeof(b->landings[0]), b->n_landings);
	append(table, &at, &h->strings, b->strings, 1, b->n_strings);
	h->magic = PCCE_TABLE_MAGIC;
	h->version = PCCE_TABLE_VERSION;
	h->header_size = sizeof(*h);
	h->size = at;
	h->flags = flags;
	h->crc = crc32(0, (const unsigned char *)table, at);
	*size = at;
	return table;
}

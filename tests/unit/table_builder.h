/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Builds encoding tables by hand, for tests. Addresses are link-time addresses, added in their
 * order.
 */
#ifndef PCCE_TABLE_BUILDER_H
#define PCCE_TABLE_BUILDER_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/table.h>

#define TB_MAX 256

struct table_builder {
	struct pcce_table_func funcs[TB_MAX];
	struct pcce_table_part parts[TB_MAX];
	struct pcce_table_site sites[TB_MAX];
	struct pcce_table_edge edges[TB_MAX];
	uint32_t callees[TB_MAX]; /* of edges */
	struct pcce_table_tail tails[TB_MAX];
	struct pcce_table_helper helpers[TB_MAX];
	struct pcce_table_landing landings[TB_MAX];
	uint32_t n_funcs, n_sites, n_edges, n_tails, n_helpers, n_landings;
	char strings[8192];
	uint32_t n_strings;
};

void tb_init(struct table_builder *b);
uint32_t tb_string(struct table_builder *b, const char *s);
uint32_t tb_func(struct table_builder *b, uint64_t addr, uint32_t length, const char *name,
		 uint32_t flags);
/* A site with slots of the sizes of docs/slots.md whose before-slot begins at start; returns its
 * index. */
uint32_t tb_site(struct table_builder *b, uint64_t start, uint32_t func, enum pcce_site_kind kind,
		 uint32_t callee);
/* An indirect call: a push that is done inline. */
uint32_t tb_indirect(struct table_builder *b, uint64_t start, uint32_t func);
/* An acyclic edge; also makes the site's value and kind fit. */
void tb_edge(struct table_builder *b, uint32_t callee, uint32_t site, uint64_t value, int tail);
void tb_tail(struct table_builder *b, uint32_t from, uint32_t to);
void tb_helper(struct table_builder *b, uint64_t addr, uint32_t length, uint32_t state);
void tb_landing(struct table_builder *b, uint32_t site, uint32_t pad);

/* The table, to be freed. Contexts are counted here. */
void *tb_build(struct table_builder *b, uint32_t flags, size_t *size);

#endif

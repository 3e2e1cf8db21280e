/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A checked, read-only view of an encoding table (include/pcce/table.h).  After
 * encoding_table_open() has accepted a table, no other function here can read outside it,
 * whatever it holds: every index, order and string was checked once.
 */
#ifndef PCCE_ELF_ENCODING_TABLE_H
#define PCCE_ELF_ENCODING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/table.h>
#include "base/error.h"

struct encoding_table {
	const struct pcce_table *head;
	const struct pcce_table_func *funcs;
	const struct pcce_table_part *parts;
	const struct pcce_table_site *sites;
	const struct pcce_table_edge *edges;
	const struct pcce_table_tail *tails;
	const struct pcce_table_helper *helpers;
	const struct pcce_table_landing *landings;
	uint64_t n_landings; /* 0 before version 4 */
	const char *strings;
	uint32_t *by_before;  /* sites ordered by the address of their before-slot, then restore
				 windows likewise; owned */
	uint32_t n_by_before; /* without restore windows */
};

static inline bool encoding_table_version_is_known(uint32_t version)
{
	return version >= PCCE_TABLE_VERSION_MIN && version <= PCCE_TABLE_VERSION;
}

/* data must be 8-aligned and stay valid as long as the table is used. 0, or -EINVAL with one
 * sentence fragment in why ("is cut off after 12 bytes", "has version 7, but this is version 4"), or
 * -ENOMEM. */
int encoding_table_open(const void *data, size_t size, struct encoding_table *out,
			struct error *why);
void encoding_table_close(struct encoding_table *t);

/* All addresses are link-time. PCCE_NONE where there is none. */
uint32_t encoding_table_func_at(const struct encoding_table *t,
				uint64_t vaddr); /* function whose code holds vaddr */
bool encoding_table_in_entry(const struct encoding_table *t, uint32_t func,
			     uint64_t vaddr); /* not behind the entry slot yet? vaddr is func's */
uint32_t encoding_table_site_by_key(const struct encoding_table *t, uint64_t key);
/* Site whose slots or call hold vaddr; but a restore window takes precedence: there the state is
 * stale. */
uint32_t encoding_table_site_around(const struct encoding_table *t, uint64_t vaddr);
const struct pcce_table_helper *encoding_table_helper_at(const struct encoding_table *t,
							 uint64_t vaddr);
const char *encoding_table_string(const struct encoding_table *t, uint32_t offset);

/* The landing pad of a site's exceptions, or, of a restore site, the only one that leads there: a
 * restore site. */
uint32_t encoding_table_landing(const struct encoding_table *t, uint32_t site);

/* One step of decoding, outward: the in-edge of func that holds id, as an index into edges;
 * the caller is sites[edges[i].site].func with id - edges[i].value. PCCE_NONE: none, so func
 * must be a root and id 0. */
uint32_t encoding_table_in_edge(const struct encoding_table *t, uint32_t func, uint64_t id);

/* The chain of tail calls from one function to another, if there is exactly one without repetition
 * and it has at most max inner functions: writes those between (neither end), outermost first,
 * returns their number; else -1. */
int encoding_table_tail_path(const struct encoding_table *t, uint32_t from, uint32_t to,
			     uint32_t *funcs, int max);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Provides a checked, read-only view of an encoding table (include/pcce/table.h). After
 * encoding_table_open() has accepted a table, no other function here reads outside it, whatever it
 * holds.
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
	const char *strings;
	/* with hybrid encoding, otherwise none */
	const struct pcce_table_frame *frames;
	const struct pcce_table_implicit *implicit;
	uint64_t n_frames, n_implicit;
	/* sites by the address of their before-slots, then restore sites likewise; owned */
	uint32_t *by_before;
	uint32_t n_by_before; /* number of sites that are no restore sites */
	/* functions that code outside can call and that leave the module by tail calls; owned */
	uint32_t *leavers;
	uint32_t n_leavers;
	bool *exits; /* of each function: does one of its own tail calls leave the module? owned */
};

/*
 * Opens a table. data must be 8-aligned and stay valid while the table is in use. Returns 0, or
 * -EINVAL or -ENOMEM with a fragment that continues the table's name ("is cut off after 12 bytes").
 */
int encoding_table_open(const void *data, size_t size, struct encoding_table *out,
			struct error *why);
void encoding_table_close(struct encoding_table *t);

/* All addresses are link-time addresses. The functions return PCCE_NONE if they find nothing. */
/* The function whose code holds vaddr. */
uint32_t encoding_table_func_at(const struct encoding_table *t, uint64_t vaddr);
/* Is vaddr, in func, before the end of the entry slot? */
bool encoding_table_in_entry(const struct encoding_table *t, uint32_t func, uint64_t vaddr);
uint32_t encoding_table_site_by_key(const struct encoding_table *t, uint64_t key);
/*
 * The site whose slots or call hold vaddr. A restore site takes precedence, since the state is
 * stale in it.
 */
uint32_t encoding_table_site_around(const struct encoding_table *t, uint64_t vaddr);
const struct pcce_table_helper *encoding_table_helper_at(const struct encoding_table *t,
							 uint64_t vaddr);
const char *encoding_table_string(const struct encoding_table *t, uint32_t offset);

/*
 * The restore site where the exceptions of a site land. For a restore site: the only one that leads
 * there.
 */
uint32_t encoding_table_landing(const struct encoding_table *t, uint32_t site);

/* Makes the table of a module without one, which says so (PCCE_TABLE_MISSING). NULL: no memory. */
void *encoding_table_missing(size_t *size);

/*
 * The in-edge i of func whose range holds id, as an index into edges: one step of decoding. The
 * caller is sites[edges[i].site].func, with the id - edges[i].value. PCCE_NONE: no in-edge holds
 * id, so func must be a root and id 0.
 */
uint32_t encoding_table_in_edge(const struct encoding_table *t, uint32_t func, uint64_t id);

/*
 * With hybrid encoding (PCCE_TABLE_HYBRID).
 *
 * The size of the caller's frame at an instruction. PCCE_NONE: not fixed, or not known.
 */
uint32_t encoding_table_frame(const struct encoding_table *t, uint64_t vaddr);
/* The implicit context of a function with a depth, or NULL. */
const struct pcce_table_implicit *encoding_table_implicit(const struct encoding_table *t,
							  uint32_t func, uint32_t depth);
/*
 * Is the lower half of the page's id the segment's base at this instruction, and does the context
 * depend on it? Otherwise it is the distance from the base, at the call that has left the function,
 * or has no meaning. ext: the page's.
 */
bool encoding_table_has_base(const struct encoding_table *t, uint64_t vaddr, uint64_t ext);

/*
 * Finds the chain of tail calls from one function to another. Writes the functions between them,
 * outermost first, and returns their number. Returns -1 unless exactly one chain without repetition
 * exists, with at most max functions between its ends.
 */
int encoding_table_tail_path(const struct encoding_table *t, uint32_t from, uint32_t to,
			     uint32_t *funcs, int max);
/*
 * Finds the functions that every chain of tail calls from a function out of the module passes, as
 * far as there is only one way. Writes at most max of them, outermost first, and returns their
 * number.
 */
int encoding_table_exit_path(const struct encoding_table *t, uint32_t from, uint32_t *funcs,
			     int max);
/* Returns the first index into tails whose `from` is not below. */
uint64_t encoding_table_first_tail(const struct encoding_table *t, uint32_t from);

#endif

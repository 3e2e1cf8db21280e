/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds which module was mapped where in a process at a time, from PROCESS and MAP records.
 *
 * Add all records first, in any order, then finish, then look up. Equal memory layouts (for
 * example of a forked child and its parent) are one space, so that a caller can decode once for
 * all of them.
 */
#ifndef PCCE_STREAM_ADDRESS_SPACE_H
#define PCCE_STREAM_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "decode/decode.h"

struct address_spaces;

/*
 * table_of returns a module's table, or NULL. Only look-ups call it. present: the spaces as they
 * are now, while recording. Then add records in their order, and look up between them.
 */
struct address_spaces *address_spaces_new(const struct encoding_table *(*table_of)(void *ctx,
										   uint32_t module),
					  void *ctx, bool present);
void address_spaces_free(struct address_spaces *s);

/* 0 or -ENOMEM. */
int address_spaces_add_process(struct address_spaces *s, const struct pcce_rec_process *rec);
int address_spaces_add_map(struct address_spaces *s, const struct pcce_rec_map *rec);
int address_spaces_finish(struct address_spaces *s);

/* The space of a process at a time: a number from 0 upwards, equal for equal layouts; UINT32_MAX if
 * out of memory. */
uint32_t address_spaces_at(struct address_spaces *s, uint32_t pid, uint64_t time);
const struct decode_space *address_spaces_get(const struct address_spaces *s, uint32_t space);

/* ---- present spaces only ---- */

/* Returns the address space of a process, valid until its next record; NULL: no memory. *layout: a
 * number that no other layout of any process has. */
const struct decode_space *address_spaces_now(struct address_spaces *s, uint32_t pid,
					      uint64_t *layout);

/* Returns the number of the address space of a process, which address_spaces_get() takes as long as
 * nobody forgets it. Equal layouts have equal numbers. UINT32_MAX: no memory. */
uint32_t address_spaces_number(struct address_spaces *s, uint32_t pid);
/* Forgets all numbers. */
void address_spaces_forget(struct address_spaces *s);

/* Returns the mappings of a process, sorted and disjoint, valid until its next record, and sets *n.
 * NULL: no memory. */
const struct decode_module *address_spaces_mappings(struct address_spaces *s, uint32_t pid,
						    size_t *n);
/* A process has ended. It is known until address_spaces_sweep() forgets those that have ended. */
void address_spaces_end(struct address_spaces *s, uint32_t pid);
void address_spaces_sweep(struct address_spaces *s);

#endif

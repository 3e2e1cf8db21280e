/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The modules of a merged recording, and their places.  Two files' modules are one if they have one
 * build id and one encoding table; without build ids, if they have one path and one encoding table, and without
 * either if they were recorded on one machine.
 *
 * A module that was ever mapped at its link-time addresses (a program that is not position
 * independent) stays there, since its sites may be named by short addresses; each other one gets a range that
 * no other module has.
 */
#ifndef PCCE_MERGE_RELOCATE_H
#define PCCE_MERGE_RELOCATE_H

#include <stdbool.h>
#include "recording/writer.h"
#include "decode/decode.h"

struct merge_space;

struct merge_space *merge_space_new(void);
void merge_space_free(struct merge_space *s);

/* The modules of a file, in the order in which its records name them. */
void merge_space_begin(struct merge_space *s, const char *host, const char *kernel);
int merge_space_module(struct merge_space *s, const struct pcce_rec_module *rec, const char *path);
int merge_space_table(struct merge_space *s, const struct pcce_rec_table *rec);
int merge_space_map(struct merge_space *s, const struct pcce_rec_map *rec);
int merge_space_symbol(struct merge_space *s, const struct pcce_rec_symbol *rec);
/* After the last of a file. 0, -ENOMEM, or -EINVAL with the end of a sentence in why. */
int merge_space_finish(struct merge_space *s, char *why, size_t why_size);

/* All after finish: the table of a module of this file, or NULL; the number of the module among all. */
const struct table *merge_space_table_of(const struct merge_space *s, uint32_t module);
uint32_t merge_space_number(const struct merge_space *s, uint32_t module);
/* Where an address of this file is now; 0: in no module. Says which module that is. */
uint64_t merge_space_relocate(const struct merge_space *s, const struct address_space *as, uint64_t address);

uint32_t merge_space_count(const struct merge_space *s);
/* Writes MODULE and TABLE records; the MAP record of a module in a process; SYMBOL records. */
int merge_space_write_modules(const struct merge_space *s, struct datafile_writer *w);
int merge_space_write_map(const struct merge_space *s, struct datafile_writer *w, uint32_t pid, uint32_t module);
int merge_space_write_symbols(const struct merge_space *s, struct datafile_writer *w);

#endif

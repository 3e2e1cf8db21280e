/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Assigns each module of a merged recording an address range, and converts addresses.
 *
 * Modules of two files are one module if they have the same build id and encoding table. Without
 * build ids, they need the same path and encoding table. Without tables, too, they need the same
 * path and machine.
 *
 * A module that was ever mapped at its link-time addresses (a program that is not position
 * independent) keeps those, because short addresses can name its sites. Every other module gets a
 * range that no other module has.
 */
#ifndef PCCE_MERGE_RELOCATOR_H
#define PCCE_MERGE_RELOCATOR_H

#include <stdbool.h>
#include "base/error.h"
#include "decode/decode.h"
#include "stream/recording.h"
#include "stream/writer.h"

struct relocator;

struct relocator *relocator_new(void);
void relocator_free(struct relocator *s);

/* Take the records of a file in their order; begin is first. 0 or -ENOMEM. */
void relocator_begin(struct relocator *s, const char *host, const char *kernel);
int relocator_module(struct relocator *s, const struct pcce_rec_module *rec, const char *path);
int relocator_map(struct relocator *s, const struct pcce_rec_map *rec);
int relocator_symbol(struct relocator *s, const struct pcce_rec_symbol *rec);
/* Numbers the modules after the last record of the file, which `of` is. 0; -ENOMEM; or -EINVAL with
 * a whole sentence in why. */
int relocator_finish(struct relocator *s, const struct recording *of, struct error *why);

/* All after finish. The number among all of a module of this file. */
uint32_t relocator_number(const struct relocator *s, uint32_t module);
/* Converts an address of this file; 0: it is in no module. */
uint64_t relocator_relocate(const struct relocator *s, const struct decode_space *as,
			    uint64_t address);

uint32_t relocator_count(const struct relocator *s);
/* Write MODULE and TABLE records; the MAP record of a module in a process; SYMBOL records. 0 or the
 * writer's error. */
int relocator_write_modules(const struct relocator *s, struct datafile_writer *w);
int relocator_write_map(const struct relocator *s, struct datafile_writer *w, uint32_t pid,
			uint32_t module);
int relocator_write_symbols(const struct relocator *s, struct datafile_writer *w);

#endif

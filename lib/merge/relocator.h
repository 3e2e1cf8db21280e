/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The modules of a merged recording, and their places.  Two files' modules are one if they have one
 * build id and one encoding table; without build ids, if they have one path and one encoding table,
 * and without either if they were recorded on one machine.
 *
 * A module that was ever mapped at its link-time addresses (a program that is not position
 * independent) stays there, since its sites may be named by short addresses; each other one gets a
 * range that no other module has.
 */
#ifndef PCCE_MERGE_RELOCATOR_H
#define PCCE_MERGE_RELOCATOR_H

#include <stdbool.h>
#include "base/error.h"
#include "decode/decode.h"
#include "recording/recording.h"
#include "recording/writer.h"

struct relocator;

struct relocator *relocator_new(void);
void relocator_free(struct relocator *s);

/* The modules of a file, in the order in which its records name them. */
void relocator_begin(struct relocator *s, const char *host, const char *kernel);
int relocator_module(struct relocator *s, const struct pcce_rec_module *rec, const char *path);
int relocator_map(struct relocator *s, const struct pcce_rec_map *rec);
int relocator_symbol(struct relocator *s, const struct pcce_rec_symbol *rec);
/* After the last record of a file, `of`. 0; -ENOMEM; or -EINVAL with a whole sentence in why.
 */
int relocator_finish(struct relocator *s, const struct recording *of, struct error *why);

/* All after finish. The number among all of a module of this file. */
uint32_t relocator_number(const struct relocator *s, uint32_t module);
/* Where an address of this file is now; 0: in no module. Says which module that is. */
uint64_t relocator_relocate(const struct relocator *s, const struct decode_space *as,
			    uint64_t address);

uint32_t relocator_count(const struct relocator *s);
/* Writes MODULE and TABLE records; the MAP record of a module in a process; SYMBOL records. */
int relocator_write_modules(const struct relocator *s, struct datafile_writer *w);
int relocator_write_map(const struct relocator *s, struct datafile_writer *w, uint32_t pid,
			uint32_t module);
int relocator_write_symbols(const struct relocator *s, struct datafile_writer *w);

#endif

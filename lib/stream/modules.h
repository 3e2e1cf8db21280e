/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Lists the modules of a recording that is being made: each ELF file that was mapped executable,
 * once, with its encoding table. Path, inode, time and size identify a file, so a file that is
 * rebuilt during the recording is another module. Files stay open, so that deleted ones can be
 * symbolized in the end.
 */
#ifndef PCCE_STREAM_MODULES_H
#define PCCE_STREAM_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "elf/encoding_table.h"
#include "stream/address_space.h"
#include "stream/stream.h"
#include "stream/writer.h"
#include "symbols/table_file.h"

struct record_modules;

struct record_module {
	uint32_t index;
	const char *path;
	int fd; /* -1: could not be opened */
	bool elf, program, vdso;
	enum table_state state;
	bool instrumented;	     /* has a valid table */
	bool missing;		     /* its table is empty: PCCE_TABLE_MISSING */
	struct encoding_table table; /* if instrumented or missing */
	uint8_t build_id[32];
	uint32_t build_id_size;
};

/* Writes new modules to w, unless it is NULL. Calls warn with one sentence for each table that
 * cannot be used or is missing. */
struct record_modules *record_modules_new(struct datafile_writer *w,
					  void (*warn)(const char *text));
void record_modules_free(struct record_modules *m);

/* Writes a module with its table, under a number, which must be the next one. 0 or -errno. */
int record_modules_write(const struct record_modules *m, uint32_t index, uint32_t number,
			 struct datafile_writer *w);

/* Returns the stage of a stream that adds the modules of mappings, and of other recordings. Behind
 * it, mappings have the numbers of their modules. */
struct stream *record_modules_stage(struct record_modules *m);

/* Adds the kernel, which no process maps, under the next number. 0 or -errno. */
int record_modules_add_kernel(struct record_modules *m);

/* Makes present address spaces of the modules, which must outlive them. NULL: no memory. */
struct address_spaces *record_modules_spaces(const struct record_modules *m);

/* Has a module hybrid encoding? */
bool record_modules_hybrid(const struct record_modules *m);
size_t record_modules_count(const struct record_modules *m);
const struct record_module *record_modules_get(const struct record_modules *m, uint32_t index);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The modules of a recording: each ELF file that was mapped executable, once, with its
 * encoding table.  A file is known by its path and inode, so that one that is rebuilt
 * during the recording is another module.  It is kept open: it can be symbolized in
 * the end even if it was deleted.
 */
#ifndef PCCE_RECORD_MODULES_H
#define PCCE_RECORD_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "recording/writer.h"
#include "elf/encoding_table.h"

struct record_modules;

struct record_module {
	uint32_t index;
	const char *path;
	int fd; /* -1: could not be opened */
	bool elf, program, vdso;
	bool instrumented;	     /* has a table that is in order */
	struct encoding_table table; /* if instrumented */
	uint8_t build_id[32];
	uint32_t build_id_size;
};

/* New modules are written to w; warn is told of damaged tables, in one sentence. */
struct record_modules *record_modules_new(struct datafile_writer *w,
					  void (*warn)(const char *text));
void record_modules_free(struct record_modules *m);

/* The module of a mapping, and the link-time address that start corresponds to. *out is NULL for
 * memory that is no file. 0, or an error of the writer, or -ENOMEM. */
int record_modules_map(struct record_modules *m, pid_t pid, uint64_t start, uint64_t length,
		       uint64_t pgoff, const char *path, const struct record_module **out,
		       uint64_t *vaddr);

size_t record_modules_count(const struct record_modules *m);
const struct record_module *record_modules_get(const struct record_modules *m, uint32_t index);

#endif

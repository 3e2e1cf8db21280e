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
#include "elf/table.h"

struct modules;

struct module {
	uint32_t index;
	const char *path;
	int fd; /* -1: could not be opened */
	bool elf, program, vdso;
	bool instrumented;  /* has a table that is in order */
	struct table table; /* if instrumented */
	uint8_t build_id[32];
	uint32_t build_id_size;
};

/* New modules are written to w; warn is told of damaged tables, in one sentence. */
struct modules *modules_new(struct datafile_writer *w, void (*warn)(const char *text));
void modules_free(struct modules *m);

/* The module of a mapping, and the link-time address that start corresponds to. *out is NULL for memory that is
 * no file. 0, or an error of the writer, or -ENOMEM. */
int modules_map(struct modules *m, pid_t pid, uint64_t start, uint64_t length, uint64_t pgoff, const char *path,
		const struct module **out, uint64_t *vaddr);

size_t modules_count(const struct modules *m);
const struct module *modules_get(const struct modules *m, uint32_t index);

#endif

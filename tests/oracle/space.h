/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the memory of a traced process: which file is mapped where, what an address there
 * belongs to, and its bytes.  Files are kept until the end.  A process's view of them is read from
 * /proc/PID/maps whenever it may have changed.
 */
#ifndef ORACLE_SPACE_H
#define ORACLE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "decode/decode.h"
#include "elf/module.h"
#include "elf/encoding_table.h"

struct file {
	uint32_t index;
	uint32_t identity; /* index of the first file with the same build id and table */
	char *path, *key;
	struct elf_module elf;
	void *data; /* its encoding table */
	bool instrumented;
	struct encoding_table table;
	uint32_t *canonical; /* for each site: see site_canonical() */
};

struct space {
	struct decode_space as; /* first: the decoder hands it back */
	pid_t pid;
	struct decode_module *maps; /* ordered by address */
	size_t n, capacity, last;
	const struct decode_module *main;
	uint64_t generation; /* changes with the mappings; no two spaces share one */
};

/* What an address belongs to. */
struct tree_place {
	const struct file *file; /* NULL: no file */
	uint64_t bias;		 /* run-time address - link-time address */
	uint32_t func;		 /* PCCE_NONE: code without slots, "foreign" */
	uint64_t lo, hi;	 /* addresses around that belong to the same */
};

/* Reads the mappings again.  Returns false if the process is gone. */
bool space_read(struct space *s, pid_t pid);
void space_free(struct space *s);

struct tree_place space_place(struct space *s, uint64_t address);
/* The state of the runtime's helper at this address (enum pcce_helper_state), or -1. */
int space_helper(struct space *s, uint64_t address);
/* Does the page have an id, ext or entry without meaning there?  It does from the claim of a push
 * to the end of the pop, in an entry slot, in __pcce_restore and a landing pad before it, and in
 * uninstrumented code of an encoded file, the runtime for example. */
bool space_is_unfilled(struct space *s, uint64_t address);
/* Does [start, start + length) hold a part of a file's code? */
bool space_overlaps(const struct space *s, uint64_t start, uint64_t length);
const struct file *space_file(uint32_t index);
/* Opens a file that no process has mapped. */
const struct file *space_open(const char *path);
/* "module+0x1234" or "function+0x12 (module+0x1234)"; in a buffer that the next call but three
 * overwrites. */
const char *space_name(struct space *s, uint64_t address);
/* Candidates for the offset of the thread page from the thread pointer: at most max. */
size_t space_page_offsets(const struct space *s, int64_t *offsets, size_t max);
bool space_instrumented(const struct space *s);

/* Returns the first copy of a site.  Copies of one source call share their value, and the encoding
 * does not distinguish them (verify.c does the same for the real stack).  Keeps PCCE_NONE. */
uint32_t site_canonical(const struct file *f, uint32_t site);

/* Bytes of a process's memory; less than size at the end of what is mapped. */
size_t memory_read(pid_t pid, uint64_t address, void *to, size_t size);
/* The mapping that holds an address, of a file or not; is it the main thread's stack? */
bool memory_region(pid_t pid, uint64_t address, uint64_t *lo, uint64_t *hi, bool *main_stack);

#endif

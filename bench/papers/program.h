/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares a linked program whose slots are still empty, read as encode reads it. */
#ifndef PCCE_BENCH_PROGRAM_H
#define PCCE_BENCH_PROGRAM_H

#include "encode/callgraph.h"

struct program {
	uint8_t *image;
	size_t size;
	struct elf_module module;
	struct site_records records;
	struct elf_relocs links;
	struct callgraph graph;
};

/* Returns 0, or -errno with a sentence fragment in why that continues the file's name. */
int program_open(const char *path, struct program *p, struct error *why);
/* Builds the call graph again, as pcce-encode does without a recording. */
int program_as_encoded(struct program *p, struct error *why);
void program_close(struct program *p);
/* Returns the address of a symbol of the static symbol table, or 0. */
uint64_t program_symbol(const struct program *p, const char *name);
/* Returns the site whose before-slot, call or after-slot holds the address, or NULL. */
const struct callgraph_site *program_site(const struct program *p, uint64_t address);

/* Writes an executable file. Errors as program_open(). */
int program_write(const char *path, const uint8_t *image, size_t size, struct error *why);

#endif

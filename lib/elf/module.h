/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A linked ELF file (x86-64 executable or shared library), read-only.  Every offset
 * in it is checked when it is used; a damaged file gives an error or missing parts,
 * never an access outside the image.
 */
#ifndef PCCE_ELF_MODULE_H
#define PCCE_ELF_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct elf_segment { /* a PT_LOAD */
	uint64_t vaddr, offset, file_size, memory_size;
	bool executable, writable;
};

struct elf_section {
	const char *name;
	uint64_t flags, addr, offset, size, entry_size;
	uint32_t type, link;
};

struct elf_module {
	const uint8_t *image;
	size_t size;
	bool fixed_address; /* ET_EXEC */
	uint64_t entry;
	uint64_t base;		      /* of the first segment, rounded down to its alignment */
	struct elf_segment *segments; /* ordered by address */
	size_t n_segments;
	struct elf_section *sections;
	size_t n_sections;
};

/* image must stay valid. 0, or -EINVAL or -ENOMEM with a sentence fragment that continues the
 * file's name. */
int elf_module_open(const void *image, size_t size, struct elf_module *out, struct error *why);
void elf_module_close(struct elf_module *m);

/* The next section of that name after `after` (NULL: the first), or NULL. */
const struct elf_section *elf_module_section(const struct elf_module *m, const char *name,
					     const struct elf_section *after);
/* A section's bytes in the image, or NULL if it has none or is cut off. */
const uint8_t *elf_module_contents(const struct elf_module *m, const struct elf_section *s);
/* Bytes at an address: all of [vaddr, vaddr + length) as far as they come from the file; or NULL.
 */
const uint8_t *elf_module_at(const struct elf_module *m, uint64_t vaddr, uint64_t length);
/* The segment that holds the address. */
const struct elf_segment *elf_module_segment(const struct elf_module *m, uint64_t vaddr);

#endif

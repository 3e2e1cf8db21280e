/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ELF reader of encoder and recorder: the headers of one linked file.
 *
 * elf_module_open() takes the image of an x86-64 file in memory, as the encoder needs it, and
 * refuses a file that cannot be encoded.  elf_module_open_fd() takes a descriptor and any ELF file,
 * as the recorder needs it; that file stays outside memory.  Both fill the same structure.  Every
 * offset is checked where it is used: a damaged file gives an error or missing parts, never an
 * access outside the image.
 */
#ifndef PCCE_ELF_MODULE_H
#define PCCE_ELF_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/table.h>
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
	const uint8_t *image; /* NULL: opened on a descriptor */
	size_t size;	      /* of the image */
	bool fixed_address;   /* ET_EXEC */
	bool program;	      /* ET_EXEC or with an interpreter: a program, not a library */
	uint64_t entry;
	uint64_t base;		      /* of the first segment, rounded down to its alignment */
	struct elf_segment *segments; /* ordered by address */
	size_t n_segments;
	struct elf_section *sections;
	size_t n_sections;
	char *section_names;
	uint8_t build_id[32];
	uint32_t build_id_size; /* 0: the file has none */
};

/* Opens an image, which must stay valid. Returns 0, or -EINVAL or -ENOMEM with a sentence fragment
 * that continues the file's name. */
int elf_module_open(const void *image, size_t size, struct elf_module *out, struct error *why);
/* Reads the headers of the ELF file that fd has open, of any processor and word size; fd can be
 * closed afterwards. Returns 0, or -errno with a fragment that continues the file's name. A file
 * with damaged section headers has no sections. */
int elf_module_open_fd(int fd, struct elf_module *out, struct error *why);
void elf_module_close(struct elf_module *m);

/* The next section of that name after `after` (NULL: the first), or NULL. */
const struct elf_section *elf_module_section(const struct elf_module *m, const char *name,
					     const struct elf_section *after);
/* The bytes of a section in the image, or NULL if it has none or is cut off. */
const uint8_t *elf_module_contents(const struct elf_module *m, const struct elf_section *s);
/* The bytes at an address: all of [vaddr, vaddr + length), if the file holds them; or NULL. */
const uint8_t *elf_module_at(const struct elf_module *m, uint64_t vaddr, uint64_t length);
/* The segment that holds the address, or NULL. */
const struct elf_segment *elf_module_segment(const struct elf_module *m, uint64_t vaddr);
/* The link-time address of an offset in the file. False: no executable segment holds the offset. */
bool elf_module_vaddr(const struct elf_module *m, uint64_t offset, uint64_t *vaddr);

/* The section that holds the encoding table, or NULL. */
const struct elf_section *elf_module_table(const struct elf_module *m);
/* Reads a section from the file that fd has open. Returns malloc'ed memory, or NULL with a fragment
 * that continues the section's name. */
void *elf_section_read(int fd, const struct elf_section *s, struct error *why);
/* Reads the head of an encoding table from the file that fd has open. Checks only the magic number
 * and the version. */
bool elf_section_table_head(int fd, const struct elf_section *s, struct pcce_table *head);

/* The string at an offset of a string table, or NULL: the offset or the string's end lies outside.
 */
const char *elf_string(const void *strings, size_t size, uint64_t offset);

#endif

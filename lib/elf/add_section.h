/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PCCE_ELF_ADD_SECTION_H
#define PCCE_ELF_ADD_SECTION_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/*
 * The image with this section: not allocated, 8-aligned, at the end.  Nothing that is
 * there moves; the section names and headers are written anew behind the section, and
 * their old places stay as bytes that nobody refers to.  A section of this name that is there
 * already is replaced: by cutting it off with the names and headers, as this function has left
 * them; or, where another tool has moved it, by leaving its old place, too.  The image must have
 * been opened by elf_module_open() before.  *out is malloc'ed.
 */
int elf_add_section(const uint8_t *image, size_t size, const char *name, const void *data,
		    size_t data_size, uint8_t **out, size_t *out_size, struct error *why);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PCCE_ELF_ADD_SECTION_H
#define PCCE_ELF_ADD_SECTION_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/*
 * Writes the image with this section to *out, which is malloc'ed. The image must have passed
 * elf_module_open().
 *
 * The section is not allocated, 8-aligned and at the end. Nothing in the image moves. The section
 * names and headers follow the section; their old bytes stay, and nothing refers to them. A section
 * of this name is replaced. If this function wrote it at the end, it is cut off with the names and
 * headers. If another tool has moved it, its old bytes stay too.
 */
int elf_add_section(const uint8_t *image, size_t size, const char *name, const void *data,
		    size_t data_size, uint8_t **out, size_t *out_size, struct error *why);

#endif

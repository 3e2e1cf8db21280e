/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PCCE_ELF_APPEND_H
#define PCCE_ELF_APPEND_H

#include <stddef.h>
#include <stdint.h>
#include "tools/lib/fail.h"

/*
 * The image with one section more: not allocated, 8-aligned, at the end.  Nothing that is
 * there moves; the section names and headers are written anew behind the section, and
 * their old places stay as bytes that nobody refers to.  The image must have been
 * opened by elf_module_open() before.  *out is malloc'ed.
 */
int elf_append_section(const uint8_t *image, size_t size, const char *name, const void *data, size_t data_size,
		       uint8_t **out, size_t *out_size, struct fail *why);

#endif

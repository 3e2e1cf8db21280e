/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes the note that names a module's encoding (include/pcce/dictionary.h). */
#ifndef PCCE_ELF_ENCODING_NOTE_H
#define PCCE_ELF_ENCODING_NOTE_H

#include <stddef.h>
#include <stdint.h>
#include "elf/module.h"

/* The name of an encoding: pcce_note.encoding. */
void encoding_note_hash(const void *table, size_t size, uint8_t hash[16]);
/* Reads the table's name from the note of the module that fd has open. False: it is not encoded, or
 * has an older runtime. */
bool encoding_note_read(int fd, const struct elf_module *m, uint8_t hash[16]);
/* Writes the table's name into the module's note, in a copy of the module's image. A module without
 * a note stays as it is: it has an older runtime. */
void encoding_note_write(const struct elf_module *m, const void *table, size_t size,
			 uint8_t *image);

#endif

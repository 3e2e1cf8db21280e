/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The runtime's exported names in an executable: shared libraries must find them. */
#ifndef PCCE_ENCODE_EXPORTS_H
#define PCCE_ENCODE_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>
#include "elf/module.h"

/* Does a dynamic executable hide its runtime from shared libraries? */
bool exports_hidden(const struct elf_module *m);

/* Takes the version PCCE_EXPORT_VERSION away from the names that have it, in a copy of the image.
 */
void exports_drop_version(const struct elf_module *m, uint8_t *image);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Removes the encoding from the code of an encoded file. */
#ifndef PCCE_ENCODE_UNPATCH_H
#define PCCE_ENCODE_UNPATCH_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/*
 * Fills all slots with nops, and makes calls that were led past an entry slot lead to the function
 * again. The table stays in the image. The image must have an intact table: it proves that
 * pcce-encode wrote the bytes in the slots. Returns 0, or -errno with a fragment that continues the
 * file's name.
 */
int unpatch(uint8_t *image, size_t size, struct error *why);

#endif

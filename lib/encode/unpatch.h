/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PCCE_ENCODE_UNPATCH_H
#define PCCE_ENCODE_UNPATCH_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/*
 * Takes the encoding out of an encoded file's code: slots become nops again, and calls that were
 * led past an entry slot lead to the function.  The table stays where it is.  The image must have
 * an intact table, which is what says that the bytes in the slots are pcce-encode's own.  0, or
 * -errno with a sentence fragment that continues the file's name.
 */
int unpatch(uint8_t *image, size_t size, struct error *why);

#endif

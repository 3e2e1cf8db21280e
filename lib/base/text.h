/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prepares names and numbers for output. */
#ifndef PCCE_BASE_TEXT_H
#define PCCE_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Returns part as a percentage of all; 0 if all is 0. */
double text_percent(uint64_t part, uint64_t all);
/* Returns the last component of a path, within it. */
const char *text_base(const char *path);
/*
 * Returns text as valid UTF-8 without control characters: each offending byte becomes '?'. The
 * result is text itself if nothing must change. Else it is in buffer, cut off at the buffer's end.
 */
const char *text_clean(const char *text, char *buffer, size_t size);

#endif

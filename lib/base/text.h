/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prepares names and numbers for output. */
#ifndef PCCE_BASE_TEXT_H
#define PCCE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands between the functions of a context in one line. No function's name contains it; those of
 * C++ contain > and ->. */
#define TEXT_CALLS " → "

/* Returns part as a percentage of all; 0 if all is 0. */
double text_percent(uint64_t part, uint64_t all);
/* Writes a number of bytes with a unit: "512 B", "1.5 KiB". */
void text_bytes(char *to, size_t size, uint64_t bytes);
/* Returns the last component of a path, within it. */
const char *text_base(const char *path);
/* Returns the length of the character at text, which is not empty. Sets *good to false if people
 * must not see it: it is not valid UTF-8 (the length is then 1), or a control character. */
size_t text_character(const char *text, bool *good);
/*
 * Returns text as people may see it: each character that is not good becomes '?'. All that is
 * printed for people passes through this function. The result is text itself if nothing must
 * change. Else it is in buffer, cut off at the buffer's end.
 */
const char *text_clean(const char *text, char *buffer, size_t size);

/* Returns a context in one line, which TEXT_CALLS joins, with only its innermost functions: those
 * that have at most `most` characters together. The innermost one may be longer: it is cut in the
 * middle. An ellipsis shows where text was left out. The caller frees it; NULL: no memory. */
char *text_shorten_calls(const char *text, size_t most);

#endif

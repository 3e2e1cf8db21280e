/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes JSON directly, for outputs so large that building objects first takes too long. Not
 * thread-safe. */
#ifndef PCCE_BASE_JSON_WRITER_H
#define PCCE_BASE_JSON_WRITER_H

#include <stdint.h>
#include <stdio.h>
#include <jansson.h>

/* Writes the string with its quotes, as valid UTF-8. */
void json_write_text(const char *s, FILE *out);
void json_write_number(uint64_t n, FILE *out);
/* Writes n / 10^decimals with that number of decimals. */
void json_write_decimal(uint64_t n, unsigned int decimals, FILE *out);

/* Returns a JSON string object of text_clean(s). NULL: no memory. */
json_t *json_clean_string(const char *s);

#endif

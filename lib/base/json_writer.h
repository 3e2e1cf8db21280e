/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* JSON of which there is so much that making objects of it first would take too long. One thread
 * writes. */
#ifndef PCCE_BASE_JSON_WRITER_H
#define PCCE_BASE_JSON_WRITER_H

#include <stdint.h>
#include <stdio.h>
#include <jansson.h>

/* The string with its quotes, as valid UTF-8. */
void json_write_text(const char *s, FILE *out);
void json_write_number(uint64_t n, FILE *out);
/* n / 10 to the power of decimals, with as many decimals. */
void json_write_decimal(uint64_t n, unsigned int decimals, FILE *out);

/* A JSON string object of text_clean(s). NULL: no memory. */
json_t *json_clean_string(const char *s);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes and reads rows in ClickHouse's format RowBinary: little-endian numbers, strings behind
 * their length as LEB128, arrays behind their number of elements. The format has no types and no
 * names, so both sides name the columns.
 */
#ifndef PCCE_STORE_BYTES_H
#define PCCE_STORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows. Empty: all zeros. */
struct bytes {
	uint8_t *data;
	size_t n, capacity;
	bool failed; /* out of memory: something is missing */
};

void bytes_put(struct bytes *b, const void *data, size_t n);
void bytes_put_u8(struct bytes *b, uint8_t value);
void bytes_put_u32(struct bytes *b, uint32_t value);
void bytes_put_u64(struct bytes *b, uint64_t value);
void bytes_put_count(struct bytes *b, uint64_t value); /* LEB128 */
void bytes_put_string(struct bytes *b, const void *data, size_t n);
void bytes_put_text(struct bytes *b, const char *text); /* a string without its NUL */
void bytes_free(struct bytes *b);

/* Reads from memory that stays the caller's. Behind the end, or after a length that reaches beyond
 * it, all values are 0, and bad is set. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* n bytes where they are; NULL: there are fewer. */
const void *cursor_get(struct cursor *c, size_t n);
uint8_t cursor_u8(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
uint64_t cursor_count(struct cursor *c);
/* Where they are, without a NUL. */
const uint8_t *cursor_string(struct cursor *c, size_t *n);
/* A copy with a NUL, cut at the first NUL in it. The caller frees it. NULL: bad or no memory. */
char *cursor_text(struct cursor *c);

#endif

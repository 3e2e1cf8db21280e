/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See bytes.h. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "store/bytes.h"

void bytes_put(struct bytes *b, const void *data, size_t n)
{
	if (!n || b->failed)
		return;
	if (array_reserve(&b->data, &b->capacity, b->n + n, 1)) {
		b->failed = true;
		return;
	}
	memcpy(b->data + b->n, data, n);
	b->n += n;
}

void bytes_put_u8(struct bytes *b, uint8_t value)
{
	bytes_put(b, &value, sizeof(value));
}

void bytes_put_u32(struct bytes *b, uint32_t value)
{
	bytes_put(b, &value, sizeof(value));
}

void bytes_put_u64(struct bytes *b, uint64_t value)
{
	bytes_put(b, &value, sizeof(value));
}

void bytes_put_count(struct bytes *b, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		bytes_put_u8(b, (uint8_t)(value | 0x80));
	bytes_put_u8(b, (uint8_t)value);
}

void bytes_put_string(struct bytes *b, const void *data, size_t n)
{
	bytes_put_count(b, n);
	bytes_put(b, data, n);
}

void bytes_put_text(struct bytes *b, const char *text)
{
	bytes_put_string(b, text, strlen(text));
}

void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}

const void *cursor_get(struct cursor *c, size_t n)
{
	const void *at = c->at;

	if (c->bad || n > (size_t)(c->end - c->at)) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return at;
}

static uint64_t cursor_number(struct cursor *c, size_t n)
{
	const void *at = cursor_get(c, n);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, n);
	return value;
}

uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)cursor_number(c, 1);
}

uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)cursor_number(c, 4);
}

uint64_t cursor_u64(struct cursor *c)
{
	return cursor_number(c, 8);
}

uint64_t cursor_count(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return c->bad ? 0 : value;
	}
	c->bad = true;
	return 0;
}

const uint8_t *cursor_string(struct cursor *c, size_t *n)
{
	const uint8_t *at;

	*n = cursor_count(c);
	at = cursor_get(c, *n);
	if (!at)
		*n = 0;
	return at;
}

char *cursor_text(struct cursor *c)
{
	size_t n;
	const uint8_t *at = cursor_string(c, &n);

	return at ? strndup((const char *)at, n) : NULL;
}

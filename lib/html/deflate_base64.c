/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the compression with zlib, and the base64 encoding of its output. */
#include <errno.h>
#include <string.h>
#include "html/deflate_base64.h"

/* Compression is the slowest part of writing a page. Higher levels save little space. */
#define LEVEL 4
#define PART 16384

static size_t encode_group(const unsigned char *b, unsigned int n, char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned int bits = b[0] << 16 | (n > 1 ? b[1] << 8 : 0) | (n > 2 ? b[2] : 0);

	text[0] = digits[bits >> 18];
	text[1] = digits[bits >> 12 & 63];
	text[2] = n > 1 ? digits[bits >> 6 & 63] : '=';
	text[3] = n > 2 ? digits[bits & 63] : '=';
	return 4;
}

static void put_base64(struct deflate_base64 *s, const unsigned char *data, size_t size)
{
	char text[PART / 3 * 4 + 8];
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		s->rest[s->n_rest++] = data[i];
		if (s->n_rest == sizeof(s->rest)) {
			n += encode_group(s->rest, s->n_rest, text + n);
			s->n_rest = 0;
		}
	}
	fwrite(text, 1, n, s->out);
}

static void run_deflate(struct deflate_base64 *s, int flush)
{
	unsigned char buffer[PART];

	do {
		s->z.next_out = buffer;
		s->z.avail_out = sizeof(buffer);
		deflate(&s->z, flush);
		put_base64(s, buffer, sizeof(buffer) - s->z.avail_out);
	} while (!s->z.avail_out);
}

int deflate_base64_begin(struct deflate_base64 *s, FILE *out)
{
	memset(s, 0, sizeof(*s));
	s->out = out;
	return deflateInit(&s->z, LEVEL) == Z_OK ? 0 : -ENOMEM;
}

void deflate_base64_put(struct deflate_base64 *s, const void *data, size_t size)
{
	const unsigned char *at = data;

	while (size) {
		uInt part = size < 1u << 30 ? size : 1u << 30;

		s->z.next_in = (unsigned char *)at;
		s->z.avail_in = part;
		run_deflate(s, Z_NO_FLUSH);
		at += part;
		size -= part;
	}
}

void deflate_base64_end(struct deflate_base64 *s)
{
	run_deflate(s, Z_FINISH);
	if (s->n_rest) {
		char text[4];

		fwrite(text, 1, encode_group(s->rest, s->n_rest, text), s->out);
	}
	deflateEnd(&s->z);
}

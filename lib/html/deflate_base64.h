/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes bytes into the text of a page, compressed with deflate (zlib's format) and encoded in
 * base64.
 */
#ifndef PCCE_HTML_DEFLATE_BASE64_H
#define PCCE_HTML_DEFLATE_BASE64_H

#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

struct deflate_base64 {
	z_stream z;
	FILE *out;
	unsigned char rest[3]; /* compressed bytes that do not fill a group of three yet */
	unsigned int n_rest;
};

/* Returns 0 or -ENOMEM. After success the caller must call deflate_base64_end(). ferror(out) tells
 * of failed writes. */
int deflate_base64_begin(struct deflate_base64 *s, FILE *out);
void deflate_base64_put(struct deflate_base64 *s, const void *data, size_t size);
void deflate_base64_end(struct deflate_base64 *s);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Bytes into the text of a page: deflated (zlib's format), then base64.
 */
#ifndef PCCE_HTML_DEFLATE_BASE64_H
#define PCCE_HTML_DEFLATE_BASE64_H

#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

struct deflate_base64 {
	z_stream z;
	FILE *out;
	unsigned char rest[3]; /* deflated bytes that do not make a group of three yet */
	unsigned int n_rest;
};

/* 0 or -ENOMEM; after a success deflate_base64_end() must follow. What the file does not take,
 * ferror() tells. */
int deflate_base64_begin(struct deflate_base64 *s, FILE *out);
void deflate_base64_put(struct deflate_base64 *s, const void *data, size_t size);
void deflate_base64_end(struct deflate_base64 *s);

#endif

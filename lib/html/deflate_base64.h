/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Bytes into the text of a page: deflated (zlib's format), then base64.
 */
#ifndef PCCE_HTML_DEFLATE_BASE64_H
#define PCCE_HTML_DEFLATE_BASE64_H

#include <stddef.h>
#include <stdio.h>
#include <zlib.h>

struct html_stream {
	z_stream z;
	FILE *out;
	unsigned char rest[3]; /* deflated bytes that do not make a group of three yet */
	unsigned int n_rest;
};

/* 0 or -ENOMEM; after a success html_stream_end() must follow. What the file does not take, ferror() tells. */
int html_stream_begin(struct html_stream *s, FILE *out);
void html_stream_put(struct html_stream *s, const void *data, size_t size);
void html_stream_end(struct html_stream *s);

#endif

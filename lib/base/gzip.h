/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A stream of bytes, compressed with gzip on its way to a file. */
#ifndef PCCE_BASE_GZIP_H
#define PCCE_BASE_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip_out;

struct gzip_out *gzip_out_new(FILE *out); /* NULL: no memory */
void gzip_out_put(struct gzip_out *g, const void *data, size_t size);
/* Writes what is left, and frees. 0 or -ENOMEM; ferror(out) tells of failed writes. */
int gzip_out_end(struct gzip_out *g);

#endif

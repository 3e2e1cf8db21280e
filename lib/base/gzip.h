/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes a stream of bytes to a file, compressed with gzip. */
#ifndef PCCE_BASE_GZIP_H
#define PCCE_BASE_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip_out;

struct gzip_out *gzip_out_new(FILE *out); /* NULL: no memory */
void gzip_out_put(struct gzip_out *g, const void *data, size_t size);
/* Writes the rest and frees g. 0 or -ENOMEM; ferror(out) tells of failed writes. */
int gzip_out_end(struct gzip_out *g);

#endif

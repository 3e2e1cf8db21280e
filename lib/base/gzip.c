/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Uses the fastest level: profiles are so repetitive that other levels are hardly better. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "base/gzip.h"

#define IN (256u << 10)
#define OUT (64u << 10)

struct gzip_out {
	z_stream z;
	FILE *out;
	size_t used;
	int error;
	unsigned char in[IN], deflated[OUT];
};

struct gzip_out *gzip_out_new(FILE *out)
{
	struct gzip_out *g = malloc(sizeof(*g));

	if (!g)
		return NULL;
	memset(&g->z, 0, sizeof(g->z));
	g->out = out;
	g->used = 0;
	g->error = 0;
	if (deflateInit2(&g->z, 1, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK)
		return g;
	free(g);
	return NULL;
}

static void deflate_input(struct gzip_out *g, int flush)
{
	g->z.next_in = g->in;
	g->z.avail_in = (uInt)g->used;
	g->used = 0;
	do {
		g->z.next_out = g->deflated;
		g->z.avail_out = OUT;
		if (deflate(&g->z, flush) == Z_STREAM_ERROR) {
			g->error = -ENOMEM;
			return;
		}
		fwrite(g->deflated, 1, OUT - g->z.avail_out, g->out);
	} while (!g->z.avail_out);
}

void gzip_out_put(struct gzip_out *g, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		size_t n = size < IN - g->used ? size : IN - g->used;

		memcpy(g->in + g->used, at, n);
		g->used += n;
		at += n;
		size -= n;
		if (g->used == IN)
			deflate_input(g, Z_NO_FLUSH);
	}
}

int gzip_out_end(struct gzip_out *g)
{
	int r;

	deflate_input(g, Z_FINISH);
	deflateEnd(&g->z);
	r = g->error;
	free(g);
	return r;
}

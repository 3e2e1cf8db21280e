/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the sizes of stack frames from the output of readelf -wF.
 *
 * A frame is fixed where its canonical frame address is computed from the stack pointer.  Functions
 * with alloca, arrays of variable size or a stack that they align compute it from another register.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/papers/frames.h"

static int by_start(const void *a, const void *b)
{
	const struct frame_row *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int add_row(struct frames *f, const struct frame_row *row)
{
	if (!(f->n_rows & (f->n_rows + 1))) {
		struct frame_row *bigger = realloc(f->rows, (2 * f->n_rows + 2) * sizeof(*f->rows));

		if (!bigger)
			return -ENOMEM;
		f->rows = bigger;
	}
	f->rows[f->n_rows++] = *row;
	return 0;
}

static int read_rows(FILE *in, struct frames *out)
{
	uint64_t end = 0, start;
	char line[512], cfa[32];
	uint32_t size;

	while (fgets(line, sizeof(line), in)) {
		const char *range = strstr(line, " pc=");
		struct frame_row row = {0};

		if (range) {
			end = 0;
			if (sscanf(range, " pc=%" SCNx64 "..%" SCNx64, &start, &end) != 2)
				end = 0;
			continue;
		}
		if (!end || strspn(line, "0123456789abcdef") != 16 ||
		    sscanf(line, "%" SCNx64 " %31s", &row.start, cfa) != 2)
			continue;
		row.end = end;
		if (sscanf(cfa, "rsp+%" SCNu32, &size) == 1)
			row.size = size;
		if (out->n_rows && out->rows[out->n_rows - 1].end == end)
			out->rows[out->n_rows - 1].end = row.start;
		if (add_row(out, &row))
			return -ENOMEM;
	}
	return 0;
}

int frames_read(const char *path, struct frames *out, struct error *why)
{
	FILE *in = fopen(path, "r");
	int err;

	memset(out, 0, sizeof(*out));
	if (!in)
		return error_set(why, -errno, "cannot be read: %s", strerror(errno));
	err = read_rows(in, out);
	fclose(in);
	if (err)
		return error_memory(why);
	if (!out->n_rows)
		return error_set(why, -EINVAL, "has no frames; write it with readelf -wF");
	qsort(out->rows, out->n_rows, sizeof(*out->rows), by_start);
	return 0;
}

void frames_free(struct frames *f)
{
	free(f->rows);
}

uint32_t frames_at(const struct frames *f, uint64_t address)
{
	size_t low = 0, high = f->n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->rows[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->n_rows && f->rows[low].start <= address ? f->rows[low].size : 0;
}

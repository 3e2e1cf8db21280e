/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the sizes of a program's stack frames, as its call frame information has them. */
#ifndef PCCE_BENCH_FRAMES_H
#define PCCE_BENCH_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct frame_row {
	uint64_t start, end;
	uint32_t size; /* from the stack pointer to the canonical frame address; 0: not fixed */
};

struct frames {
	struct frame_row *rows; /* ordered by address */
	size_t n_rows;
};

/* Reads the output of readelf -wF.  Returns 0, or -errno with a message in why. */
int frames_read(const char *path, struct frames *out, struct error *why);
void frames_free(struct frames *f);
/* Returns the size of the frame at an instruction, or 0 if it is not fixed or not known. */
uint32_t frames_at(const struct frames *f, uint64_t address);

#endif

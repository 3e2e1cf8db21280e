/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the sizes of stack frames from a module's unwind information (.eh_frame, .debug_frame): the
 * distance from the stack pointer up to the canonical frame address, at each instruction.
 */
#ifndef PCCE_ELF_FRAME_SIZES_H
#define PCCE_ELF_FRAME_SIZES_H

#include "elf/module.h"

#define FRAME_SIZE_NONE 0xffffffffu /* not fixed, or not known */

struct frame_size {
	uint64_t start; /* up to the start of the next one */
	uint32_t size;	/* bytes, or FRAME_SIZE_NONE */
};

struct frame_sizes {
	struct frame_size *all; /* ordered by start */
	size_t n, capacity;
};

struct frame_reader; /* of one module */

/* The image must outlive the reader. Returns 0, or -errno with a fragment in why. */
int frame_reader_open(const struct elf_module *m, struct frame_reader **out, struct error *why);
void frame_reader_close(struct frame_reader *r);
/* Adds the sizes in [start, end), which must be behind those that are there. 0 or -ENOMEM. */
int frame_sizes_add(struct frame_sizes *f, struct frame_reader *r, uint64_t start, uint64_t end);
/* Returns the size at an instruction. */
uint32_t frame_sizes_at(const struct frame_sizes *f, uint64_t vaddr);
void frame_sizes_free(struct frame_sizes *f);

#endif

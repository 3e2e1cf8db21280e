/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps the kernel's call stacks. Samples that were taken in the kernel have few different ones, so
 * a sample has the number of its stack, and a recording has each stack once.
 *
 * The numbers of one source of samples count from 0. A stack stays where it is as long as its
 * table.
 */
#ifndef PCCE_STREAM_KERNEL_STACKS_H
#define PCCE_STREAM_KERNEL_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "stream/stream.h"
#include "stream/writer.h"

struct kernel_stack {
	uint32_t number, n;
	/* Innermost first: the instruction pointer, and then addresses in calls. */
	uint64_t frames[];
};

struct kernel_stacks;

/* NULL: no memory. */
struct kernel_stacks *kernel_stacks_new(void);
void kernel_stacks_free(struct kernel_stacks *s);

/* Returns the stack with these frames, which may be a new one. NULL: no memory, or the table has as
 * many stacks as it may have. */
const struct kernel_stack *kernel_stacks_find(struct kernel_stacks *s, const uint64_t *frames,
					      uint32_t n);
/* Adds a stack of a recording, under the next number. 0 or -ENOMEM. */
int kernel_stacks_add(struct kernel_stacks *s, const uint64_t *frames, uint32_t n);
/* NULL: there is none of this number. */
const struct kernel_stack *kernel_stacks_get(const struct kernel_stacks *s, uint64_t number);

/* Returns the number of the kernel's frames of a sample, and sets *frames. 0: none is known. */
size_t kernel_stacks_of(const struct stream_event *e, const uint64_t **frames);

/* The stacks that a recording has so far. */
struct kernel_stacks_written {
	uint32_t *numbers; /* in the recording, by the source's number; from 1 */
	size_t capacity;
	uint32_t n;
};

/* Sets s->kip to the stack's number in the recording, and writes the stack if it is not there yet.
 * stack: NULL: does nothing. 0 or -errno. */
int kernel_stacks_write(struct kernel_stacks_written *w, struct datafile_writer *to,
			const struct kernel_stack *stack, struct pcce_sample *s);
void kernel_stacks_written_free(struct kernel_stacks_written *w);

#endif

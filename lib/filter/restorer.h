/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Restores, while recording, the frames between an uninstrumented function and its instrumented
 * caller, and whole stacks of threads that are not instrumented, from the copy of the stack that a
 * sampler brings.
 *
 * It unwinds each copy as a whole. A recorder that is built with RESTORE=1 gives it another way,
 * `struct reuse_ops`, that keeps frames from sample to sample (reuse.c).
 */
#ifndef PCCE_FILTER_RESTORER_H
#define PCCE_FILTER_RESTORER_H

#include <stdint.h>
#include <pcce/abi.h>
#include <pcce/datafile.h>
#include "filter/stack_unwinder.h"
#include "stream/address_space.h"
#include "stream/modules.h"

struct restorer;
struct reuse;

struct reuse_sample {
	uint32_t pid, tid;
	uint64_t layout; /* of the address space (address_space.h) */
	bool whole;	 /* unwind down to the thread's beginning */
};

struct reuse_ops {
	struct reuse *(*new)(void); /* NULL: no memory */
	void (*free)(struct reuse *r);
	/* Returns what unwind_frames() would, and the same frames. Adds to *unwound and *reused. */
	int (*unwind)(struct reuse *r, struct stack_unwinder *u, const struct reuse_sample *sample,
		      const struct unwind_state *state, struct unwind_sequence *frames,
		      uint64_t *unwound, uint64_t *reused);
};

/* Both must outlive it; spaces: as they are now. reuse: NULL: unwind all. NULL: no memory. */
struct restorer *restorer_new(const struct record_modules *m, struct address_spaces *spaces,
			      const struct reuse_ops *reuse);
void restorer_free(struct restorer *r);
/*
 * Restores the frames of a sample with PCCE_SAMPLE_COPY. *frames: *n return addresses, innermost
 * first, valid until the next call. *flags: what the sample gets instead of PCCE_SAMPLE_COPY. 0 or
 * -ENOMEM.
 */
int restorer_sample(struct restorer *r, const struct pcce_sample *s, const uint64_t **frames,
		    uint32_t *n, uint32_t *flags);
/* The words of the stack that samples need, as the last ones show. */
uint32_t restorer_need(const struct restorer *r);
/* The frames that were unwound and reused so far. */
void restorer_count(const struct restorer *r, struct pcce_rec_frames *rec);

#endif

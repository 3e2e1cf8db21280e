/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Restores, while recording, the frames between an uninstrumented function and its instrumented
 * caller, from the copy of the stack that a sampler brings.
 *
 * A recorder that was built without RESTORE=1 has no restorer: it does not refer to the variable
 * `restorer`, so nothing of this is linked.
 */
#ifndef PCCE_FILTER_RESTORER_H
#define PCCE_FILTER_RESTORER_H

#include <stdint.h>
#include <sys/types.h>
#include <pcce/abi.h>
#include <pcce/datafile.h>
#include "stream/address_space.h"
#include "stream/modules.h"

struct restorer;

struct restorer_ops {
	/* Both must outlive it; spaces: as they are now. NULL: no memory */
	struct restorer *(*new)(const struct record_modules *m, struct address_spaces *spaces);
	void (*free)(struct restorer *r);
	/*
	 * Restores the frames of a sample with PCCE_SAMPLE_COPY. *frames: *n return addresses,
	 * innermost first, valid until the next call. *flags: what the sample gets instead of
	 * PCCE_SAMPLE_COPY. 0 or -ENOMEM.
	 */
	int (*sample)(struct restorer *r, const struct pcce_sample *s, const uint64_t **frames,
		      uint32_t *n, uint32_t *flags);
	/* The words of the stack that samples need, as the last ones show. */
	uint32_t (*need)(const struct restorer *r);
	/* The frames that were unwound and reused so far. */
	void (*count)(const struct restorer *r, struct pcce_rec_frames *rec);
};

extern const struct restorer_ops restorer;

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Remembers what the outer parts of deep contexts mean (stream/deep_decoder.h). */
#ifndef PCCE_PROFILE_DEEP_PARTS_H
#define PCCE_PROFILE_DEEP_PARTS_H

#include "stream/deep_decoder.h"
#include "tree/builder.h"
#include "tree/thread_origins.h"

struct deep_parts;

struct deep_parts_config {
	struct tree_builder *builder; /* NULL: parts have no spots */
	struct thread_origins *origins;
	bool below; /* contexts continue in the creation context */
	/* Called for each new part; may be NULL. A result that is not 0 ends the search. */
	int (*part)(void *ctx, uint32_t space, const struct decode_context *part);
	void *ctx;
};

/* A part, with all that is outside of it. */
struct deep_part {
	struct tree_spot spot;
	uint64_t depth, entries; /* as in struct decode_cache_meaning */
	uint64_t hash;		 /* deep_parts_hash() */
	uint32_t origin;
	enum decode_status status;
	enum decode_reason reason;
};

struct deep_parts *deep_parts_new(const struct deep_parts_config *config); /* NULL: no memory */
void deep_parts_free(struct deep_parts *p);

/* Finds what a rest means. *out is valid until the next call. 0, -ENOMEM, or what part() has
 * returned. */
int deep_parts_find(struct deep_parts *p, const struct decode_space *as, uint32_t space,
		    const struct deep_rest *rest, const struct deep_part **out);

/* Changes the status and the reason of a part to those of the part and what is outside of it. */
void deep_part_status(const struct deep_part *outside, enum decode_status *status,
		      enum decode_reason *reason);

/* A hash of a context, from the outermost frame inwards. before: that of what is outside of it;
 * 0: nothing is. */
uint64_t deep_parts_hash(const struct decode_context *ctx, uint64_t before);

#endif

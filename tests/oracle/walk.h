/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares two walks from the innermost frame outwards, over the decoder's context and over the
 * witness's chain.  Both give the same kind of steps. */
#ifndef ORACLE_WALK_H
#define ORACLE_WALK_H

#include "tests/oracle/chain.h"

#define BETWEEN_MAX 64

/* The code between two frames of kind CALL or SIGNAL, or before the innermost. */
struct between {
	uint64_t left[BETWEEN_MAX]; /* functions left by tail calls, innermost first: left_name() */
	size_t n;
	bool foreign;	     /* a foreign frame */
	bool passed_foreign; /* of the chain: no frame of its own, but jumps led through foreign
				code */
	bool came_back;	     /* of the chain: some functions are missing in left */
	bool overflow;
};

struct walk_context {
	const struct decode_context *ctx;
	size_t at;
	uint32_t done; /* repetitions of the group that ends next */
};

/* Returns the next frame of kind CALL, SIGNAL or GAP, and the code before it; NULL at the end. */
const struct decode_frame *walk_context_next(struct walk_context *w, struct between *before);

struct seen_frame {
	bool signal;
	const struct activation *a;
};

struct walk_chain {
	const struct chain *c;
	size_t at; /* activations [0, at) are left */
};

void walk_chain_begin(struct walk_chain *w, const struct chain *c);
/* The next instrumented function or signal; false at the end. frame may be NULL. */
bool walk_chain_next(struct walk_chain *w, struct between *before, struct seen_frame *frame);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compares what the decoder makes of a sample with what the witness has seen.
 *
 * Digests compare the frames of kind CALL and SIGNAL of the whole chain (function and canonical
 * site, each).  50,000 repetitions therefore cost as much as one.  For the innermost frames, the
 * code between them is compared too:
 *
 * - Functions that the decoder shows as left by tail calls were left in this order.  Where a direct
 *   call within the module leads to another function than its callee, the callee is among them.
 *
 * - Where the decoder shows foreign code, there was some.  Where there was some, the decoder shows
 *   it, with three exceptions, in which no table can tell: the runtime has come between a function
 *   that was called as a leaf and its caller; the call was indirect; the call may have left the
 *   module by a tail call.
 *
 * Each frame was among the innermost when it was made, so all frames are compared.
 *
 * A truncated context must agree on both sides of its gap.  A context that is marked as not
 * decodable is counted by its reason.  Marks that only say that the state is in the making or was
 * lost are part of the contract (include/pcce/abi.h).  Any other reason means that the decoder has
 * found an impossible state, and fails the test as a mismatch does.
 *
 * The outcome of one state is the same each time, so it is remembered: by the sample, ip, r11 where
 * it matters, the mappings, and what is expected.
 */
#ifndef ORACLE_CHECK_H
#define ORACLE_CHECK_H

#include <stdio.h>
#include "tests/oracle/chain.h"
#include "tests/oracle/sample.h"

enum outcome {
	OUTCOME_EXACT,
	OUTCOME_TRUNCATED,
	OUTCOME_OUTSIDE,
	OUTCOME_MISMATCH,
	OUTCOME_MARKED, /* + enum decode_reason */
	OUTCOME_COUNT = OUTCOME_MARKED + DECODE_REASON_COUNT
};

struct checker {
	uint64_t count[OUTCOME_COUNT];
	uint64_t allowed; /* bit set of marks' reasons that are no failure */
	uint64_t restoring_max;
	uint64_t decoded; /* states that were not known yet */
	unsigned int reports, reports_max;
	FILE *out;
};

void check_init(struct checker *c, FILE *out);
/* One sample of a thread. */
enum outcome check(struct checker *c, struct chain *chain, struct space *s,
		   const struct sample *sample);
/*
 * The same for a state that someone else has put together.  key: a hash of all that its decoding
 * depends on, without ip and mappings.  decode stores the entries in *flat, and returns NULL if no
 * memory is left.
 */
typedef const struct decode_context *check_decode(struct space *s, const struct sample *sample,
						  struct stack_store_flat *flat);
enum outcome check_state(struct checker *c, struct chain *chain, struct space *s,
			 const struct sample *sample, uint64_t key, check_decode *decode);
/* Also if nothing could be compared. */
bool check_failed(const struct checker *c);
/* prefix: of each key */
void check_print(const struct checker *c, const char *prefix);

#endif

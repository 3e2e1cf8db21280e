/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compares what the program gets from pcce_capture() and pcce_context_id() with the witness.
 *
 * A captured context is decoded by libpcce-decode (pcce_decode_process_state).  The comparison is
 * that of a sample (check.h).
 *
 * A name is compared with all names before it (names.h).  Names of contexts that are marked are
 * only counted, and so are those of a handler that has interrupted a push or a longjmp
 * (chain_unfilled()).
 */
#ifndef ORACLE_CAPTURED_H
#define ORACLE_CAPTURED_H

#include "tests/oracle/capture_area.h"
#include "tests/oracle/check.h"

/* Mistakes that must be found, in every 97th capture. */
enum captured_mistake { MISTAKE_NONE, MISTAKE_NAME, MISTAKE_ID, MISTAKE_ENTRY };

struct captured {
	struct checker contexts;
	uint64_t names, names_distinct, names_wrong, names_marked, names_unfilled, refused;
	unsigned int reports;
	enum captured_mistake mistake;
	FILE *out;
};

void captured_init(struct captured *c, FILE *out);
/* The chain is that at the call of pcce_capture() or pcce_context_id(). */
enum outcome captured_context(struct captured *c, struct chain *chain, struct space *s, pid_t tid,
			      struct capture_area *area);
/* context: the outcome of the context that was captured before. */
void captured_name(struct captured *c, struct chain *chain, struct space *s,
		   const struct capture_area *area, enum outcome context);
bool captured_failed(const struct captured *c);
void captured_print(const struct captured *c);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the true counts of contexts: how often each function of an executable was entered in
 * each context, as the witness sees it.
 *
 * A function is entered by a call, by a jump from another function, by a tail call of itself, and
 * when a handler of a signal begins.
 */
#ifndef ORACLE_COUNTS_H
#define ORACLE_COUNTS_H

#include <stdio.h>
#include "tests/oracle/chain.h"

/* An instruction of this kind at `from` has led to `ip`, and the chain knows it. handler: the
 * kernel has led there. */
void counts_step(const struct chain *c, struct space *s, enum insn insn, bool handler,
		 uint64_t from, uint64_t ip);
/* Writes one line for each context: the count, a space, and the frames, outermost first. */
void counts_write(FILE *out);

/* Writes a frame as "function:key of the call;", at most size bytes. Without a call the key is 0.
 */
void counts_frame(char *to, size_t size, const struct file *f, uint32_t func, uint32_t site);

#endif

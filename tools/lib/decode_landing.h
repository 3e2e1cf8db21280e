/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An exception has just arrived in a function of ours, and __pcce_restore has not been there yet: the state is still
 * that of the call into the unwinder, __cxa_throw() or _Unwind_Resume().  So the decoder goes down from that call; then
 * everything further in than the function is dropped.  This tells which call of the function it is if there is but
 * one on the way.  Else, or if the state is not that of such a call (a non-local goto, say), it is not known.
 */
#ifndef PCCE_DECODE_LANDING_H
#define PCCE_DECODE_LANDING_H

#include "tools/lib/decode_walk.h"

/* The frame that was emitted last is where it arrived. */
enum decode_reason landing_begin(struct walk *w);
/* When the way has been gone to its end, and r came of it. */
enum decode_reason landing_end(struct walk *w, enum decode_reason r);

#endif

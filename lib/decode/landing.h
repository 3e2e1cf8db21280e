/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An exception has just arrived in a function of ours, and __pcce_restore has not been there yet:
 * the state is still that of the call into the unwinder, __cxa_throw() or _Unwind_Resume().  So the
 * decoder goes down from that call; then everything further in than the function is dropped.
 *
 * Which call of the function is it, if more than one is on the way?  If it is known at which
 * landing pad it has arrived, the innermost one that was in a call with this pad: what does not
 * stop there for one such call does not for another.  If code of several pads has been joined, the
 * innermost one that has a pad at all, provided that all exceptions land there, as they do where
 * something is cleaned up.  Else, or if the state is not that of a call into the unwinder (a
 * non-local goto, say), it is not known.
 */
#ifndef PCCE_DECODE_LANDING_H
#define PCCE_DECODE_LANDING_H

#include "decode/walk.h"

/* The frame that was emitted last is where it arrived, in this restore site of w->m. The state is
 * then that of the call into the unwinder, whose caller is to be located. */
enum decode_reason decode_landing_begin(struct walk *w, uint32_t restore);
/* When the way has been gone to its end, and r came of it. */
enum decode_reason decode_landing_end(struct walk *w, enum decode_reason r);

#endif

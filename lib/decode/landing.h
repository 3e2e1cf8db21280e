/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes samples between the landing of an exception in an instrumented function and the end of
 * __pcce_restore. There the state is still that of the call into the unwinder, __cxa_throw() or
 * _Unwind_Resume(). So the decoder decodes that call's context, and then drops all frames further
 * inside than the function.
 *
 * The function may be in the chain more than once. Three rules choose its frame:
 *
 *   1. If the landing pad is known, the frame is the innermost one whose call has this pad.  An
 *      exception that passes one such call would pass all others too.
 *   2. If the compiler joined the code of several pads, the frame is the innermost one whose
 *      call has a pad, provided that all exceptions land there, for a clean-up.
 *   3. Otherwise the frame is known only if the function is in the chain once.
 *
 * The sample is undecodable if no rule applies, or if the state is not that of a call into the
 * unwinder, as after a non-local goto.
 */
#ifndef PCCE_DECODE_LANDING_H
#define PCCE_DECODE_LANDING_H

#include "decode/walk.h"

/*
 * Begins: the exception landed in the last frame, in this restore site of w->m. The state is then
 * that of the call into the unwinder, and its caller must be located next.
 */
enum decode_reason decode_landing_begin(struct walk *w, uint32_t restore);
/* Ends: drops the frames that the exception left. r is the result of the decoding. */
enum decode_reason decode_landing_end(struct walk *w, enum decode_reason r);

#endif

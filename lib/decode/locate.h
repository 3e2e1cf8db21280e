/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Interprets the registers: the first step of the decoder (decode.c). Each function sets the state
 * at the function that it finds, and w->inner. WALK_INNER_ROOT means that a segment must be
 * climbed.
 */
#ifndef PCCE_DECODE_LOCATE_H
#define PCCE_DECODE_LOCATE_H

#include "decode/walk.h"

/* Finds the innermost function of the thread, or of the code that a signal interrupted. */
enum decode_reason decode_locate(struct walk *w, uint64_t ip, uint64_t r11);
/*
 * Finds the caller of uninstrumented code, in which the sample was taken or which the decoder has
 * reached.
 */
enum decode_reason decode_locate_caller_of_foreign(struct walk *w);
/*
 * Finds the caller of a segment that was entered while ext named the call of a leaf callee: by that
 * call or from the leaf callee.
 */
enum decode_reason decode_locate_called_as_leaf(struct walk *w);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the registers say: the first of the decoder's questions (decode.c).  Each sets the state at
 * the function that it finds, and w->inner: WALK_INNER_ROOT means that there is a segment to climb.
 */
#ifndef PCCE_DECODE_LOCATE_H
#define PCCE_DECODE_LOCATE_H

#include "decode/walk.h"

/* The innermost function, of the thread or of what a signal has interrupted. */
enum decode_reason decode_locate(struct walk *w, uint64_t ip, uint64_t r11);
/* Who called the code without slots that has just been reached from within, or in which the sample
 * was taken. */
enum decode_reason decode_locate_caller_of_foreign(struct walk *w);
/* The segment was entered while ext named the call of a leaf: by that call itself, or from what it
 * calls. */
enum decode_reason decode_locate_called_as_leaf(struct walk *w);

#endif

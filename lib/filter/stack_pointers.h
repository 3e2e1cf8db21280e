/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Takes the stack pointer out of samples of programs with hybrid encoding, so that all later stages
 * and readers can compare them: decode_take_stack_pointer().
 */
#ifndef PCCE_FILTER_STACK_POINTERS_H
#define PCCE_FILTER_STACK_POINTERS_H

#include "stream/modules.h"

/* The modules must outlive the stage. NULL: no memory. */
struct stream *stack_pointers_new(const struct record_modules *m);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares what interpose/ucontext.c and stack_switch.c keep of one stack of the program while
 * another one is in use.
 *
 * Signal handlers may interrupt everywhere; segment_moves.h says what they leave alone. All
 * functions are async-signal-safe, and allocate nothing but the area.
 */
#ifndef PCCE_USERLIB_STACK_STATE_H
#define PCCE_USERLIB_STACK_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/abi.h>

#pragma GCC visibility push(hidden)

#define HALF_WORDS ((PCCE_SEGMENT_ENTRIES + 1) * 2)

struct stack_state {
	uint64_t id, ext, position;
	uint64_t area;		   /* as in the page; belongs to this stack from now on */
	__u64 half[2][HALF_WORDS]; /* bases and entries */
};

/* Saves the page's state. False: the page has nothing that could be kept. */
bool __pcce_stack_keep(struct stack_state *s);
/*
 * Loads the state into the calling thread's page, with this ext. Until then ext must be
 * PCCE_EXT_CHANGING, or the id lost.
 */
void __pcce_stack_load(struct stack_state *s, uint64_t ext);
/* Empties the encoding stack, and sets no area: the previous one has another owner. */
void __pcce_stack_empty(void);
void __pcce_stack_free_area(uint64_t area);

#pragma GCC visibility pop

#endif

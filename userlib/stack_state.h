/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the page says of one stack of the program, kept while another one is in use: for contexts.c
 * and stack_switch.c.
 *
 * Signal handlers may come in everywhere: segment_moves.h says what they leave alone.
 * Async-signal-safe; nothing is allocated.
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
	uint64_t area;		   /* from now on it is this stack's */
	__u64 half[2][HALF_WORDS]; /* bases and entries */
};

/* As the page is. false: it says nothing that could be kept. */
bool __pcce_stack_keep(struct stack_state *s);
/*
 * Into the page of the thread that runs, with this ext. Until then ext must be PCCE_EXT_CHANGING,
 * or the id lost.
 */
void __pcce_stack_load(struct stack_state *s, uint64_t ext);
/* An empty encoding stack, and no area: the one that there was has another owner. */
void __pcce_stack_empty(void);
void __pcce_stack_free_area(uint64_t area);

#pragma GCC visibility pop

#endif

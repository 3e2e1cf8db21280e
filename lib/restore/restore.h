/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Restores the call sequence of a thread by unwinding only the part of its stack that has changed
 * since the last request.
 *
 * The method is that of US patent 7,926,048, which may still be in force in some countries.
 * Therefore no command of pcce contains this folder, unless it is built with RESTORE=1: commands
 * unwind all frames then (unwind/unwind.h).
 *
 * A map keeps, for each frame of the last call sequence, where its return address is on the stack,
 * and its value. The next request compares the map with the stack. It unwinds from the innermost
 * frame until a frame is found at the location of an unchanged element of the map. From there on
 * the elements hold, up to the next changed one. There unwinding begins again. An unchanged element
 * also holds, without unwinding, for a function that goes on elsewhere under the same rule.
 *
 * The module is pure: callbacks read the stack and unwind one frame. It does not know the machine.
 */
#ifndef PCCE_RESTORE_RESTORE_H
#define PCCE_RESTORE_RESTORE_H

#include "unwind/unwind.h"

/* restore_frame.base: the frame's end follows from the stack pointer alone; it follows from more
 * than one register; it was searched. */
#define RESTORE_BASE_SP 0xffu
#define RESTORE_BASE_OTHER 0xfeu
#define RESTORE_BASE_SEARCH 0xfdu

/* Confidence in percent: the frame follows from unwind information. */
#define RESTORE_CERTAIN 100u

/* An element of the map: a frame, and what it follows from. */
struct restore_frame {
	struct unwind_frame is;
	/* is.at = reg[base] + offset, or RESTORE_BASE_*. */
	uint8_t base;
	uint8_t confidence; /* in percent; below RESTORE_CERTAIN: found by an imprecise method */
	int64_t offset;
	uint64_t from; /* the function's stack pointer; restore_frames() sets it */
	/* The code, [rule, rule_end), that has the same rule: with base RESTORE_BASE_SP and the
	 * same stack pointer, or the same is.at of base and offset, all of the frame is the same.
	 * The address before a return address counts. Both 0: unknown. */
	uint64_t rule, rule_end;
	/* Private to restore_frames(): what this frame and all outer ones follow from. That is the
	 * stack from `low` on, and on entry the value `want` of register `wants`. */
	uint64_t low;  /* 0: they follow from more */
	uint8_t wants; /* RESTORE_BASE_SP: from no register */
	uint64_t want;
};

struct restore_ops {
	unwind_read *read;
	/* Unwinds one frame. Does not change the state. */
	enum unwind_step (*unwind)(void *ctx, const struct unwind_state *state,
				   struct restore_frame *frame);
	unwind_stop *stop; /* NULL: never */
	/* The words of the stack from the state's sp on, *n of them. The map keeps a copy of those
	 * that the frames need. Where it is unchanged, no frame is looked at. NULL: all are. */
	const uint64_t *(*stack)(void *ctx, size_t *n);
};

struct restore_counts {
	uint64_t unwound;   /* frames, by unwind() */
	uint64_t reused;    /* frames, from the map */
	uint64_t rechecked; /* of unwound: unchanged, but of too little confidence */
};

struct restore_map {
	struct restore_frame *frames; /* innermost first */
	size_t n;
	bool complete; /* the sequence ends with the last frame */
	/* Private to restore_frames(): */
	struct restore_frame *memory; /* of frames, which are anywhere in it */
	struct restore_frame *next;   /* the next map, or its inner part */
	uint8_t *changed;	      /* of the elements that were compared */
	uint64_t *stack;	      /* that the frames followed from */
	uint64_t stack_sp;	      /* of its first word */
	size_t capacity, next_capacity, changed_capacity, stack_capacity;
	size_t n_next, n_compared, n_stack;
};

/*
 * Brings the map up to date: map->frames is the call sequence of the state. With the same map
 * again, only changed frames are unwound. A map that is all zeros is empty.
 *
 * threshold: unchanged regions of frames that an imprecise method found are trusted only with at
 * least this confidence, in percent. 0: always; 100: never.
 *
 * Returns enum unwind_result, or -ENOMEM.
 */
int restore_frames(struct restore_map *map, const struct restore_ops *ops, void *ctx,
		   const struct unwind_state *state, unsigned int threshold,
		   struct restore_counts *counts);
void restore_map_free(struct restore_map *map);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwinds the call sequence of a thread, from its innermost frame outwards.
 *
 * The module is pure: callbacks read the stack and unwind one frame. It does not know the machine.
 */
#ifndef PCCE_UNWIND_UNWIND_H
#define PCCE_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers that a call preserves, except the stack pointer; enough for x86-64. */
#define UNWIND_REGISTERS 8
/* The samplers copy 128 KiB at most. A frame takes at least a word of it, so longer sequences are
 * those of wrong unwind information. */
#define UNWIND_FRAMES_MAX 16384

/* Where a thread is: in the innermost function, or at a call. */
struct unwind_state {
	uint64_t pc, sp;
	uint64_t reg[UNWIND_REGISTERS];
	uint32_t known; /* bit i: reg[i] is known */
	bool inner;	/* pc is not a return address */
};

/* The frame of one function, and the call that leads to it. */
struct unwind_frame {
	uint64_t at;  /* where its return address is */
	uint64_t ret; /* the return address */
	uint64_t sp;  /* its caller's stack pointer, after the return */
	/* Where the function has saved the caller's registers; 0: it has them unchanged. */
	uint64_t saved[UNWIND_REGISTERS];
	uint32_t lost;	  /* bit i: the caller's reg[i] is not known */
	bool interrupted; /* it did not call: a signal interrupted at ret */
};

enum unwind_step {
	UNWIND_STEP_FRAME, /* *frame is the frame of the function at state->pc */
	UNWIND_STEP_END,   /* this function has no caller */
	UNWIND_STEP_FAILED
};

enum unwind_result {
	UNWIND_COMPLETE, /* down to a function without a caller, or to where stop() said so */
	UNWIND_PARTIAL,	 /* some frames, then nothing could be found */
	UNWIND_FAILED	 /* no frame */
};

/* Reads a word of the stack; false: it is not available. */
typedef bool unwind_read(void *ctx, uint64_t address, uint64_t *word);
/* Does the sequence end at the function that this address returns to? */
typedef bool unwind_stop(void *ctx, uint64_t ret);

struct unwind_ops {
	unwind_read *read;
	/* Unwinds one frame. Does not change the state: unwind_leave() does. */
	enum unwind_step (*unwind)(void *ctx, const struct unwind_state *state,
				   struct unwind_frame *frame);
	unwind_stop *stop; /* NULL: never */
};

/* A call sequence; begins as zeros, and can be used again. Free ret afterwards. */
struct unwind_sequence {
	uint64_t *ret; /* the return addresses, innermost first */
	size_t n, capacity;
	uint64_t end; /* the stack pointer of the outermost caller */
};

/* Unwinds all frames. Returns enum unwind_result, or -ENOMEM. */
int unwind_frames(const struct unwind_ops *ops, void *ctx, const struct unwind_state *from,
		  struct unwind_sequence *sequence);
/* Goes from a function to its caller. */
void unwind_leave(unwind_read *read, void *ctx, const struct unwind_frame *f,
		  struct unwind_state *state);
/* Does a frame end outside of those that it called, as all do? Only a signal can change stacks.
 * first: the stack pointer of the innermost frame. A stack that lies between both is impossible, so
 * wrong unwind information cannot go round. */
bool unwind_is_possible(const struct unwind_frame *f, const struct unwind_state *state,
			uint64_t first);

#endif

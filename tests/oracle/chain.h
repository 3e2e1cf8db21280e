/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the witness: the true chain of calls of one thread.  The witness looks at each
 * instruction when it is executed.  It knows nothing of ids, slots or the thread page, and it never
 * unwinds.
 *
 * The chain is a list of activations.  These events make and end them:
 *
 * - Call.  A call instruction makes an activation once it has been executed, that is, before the
 *   first instruction of the callee.  The place of the return address on the stack identifies it.
 *
 * - Return.  A return ends the activation whose return address it takes.  At the instruction after
 *   the call the activation is gone.
 *
 * - Jump.  A jump within the code of a function has no effect.  A jump to another function's code
 *   is a tail call: the activation stays and belongs to the other function from then on.  The
 *   activation remembers which instrumented functions it has left in this way, in order and without
 *   detours (a -> b -> a -> c is a -> c).  If there was a detour, the decoder may claim any
 *   functions, since b -> a may be all that the state tells.  The same holds if control falls from
 *   one function into the next.
 *
 * - Longjmp and unwinding.  A return, a call, a far jump, or a jump to another function's code
 *   first ends all activations whose return addresses the stack pointer has passed.  Raising the
 *   stack pointer alone ends nothing: inside longjmp and the unwinder the context is that of their
 *   callers, up to the instruction that jumps.
 *
 * - Signal.  When the kernel has built the frame of a handler, an activation of kind SIGNAL
 *   represents it.  An activation of the handler follows, at the handler's first instruction.
 *   rt_sigreturn ends all of it.  A handler that the C library has installed for itself, and that
 *   interrupts foreign code, is foreign code too.  A handler on an alternate stack has a separate
 *   stack: a jump to elsewhere ends the activations on it.
 *
 * - Thread.  A new thread's chain is empty.  A forked child's chain is that of its parent, and so
 *   is that of a child that shares memory and thread pointer (vfork, posix_spawn).
 *
 * - Stack switching.  If control is transferred with a stack pointer that is on none of the chain's
 *   stacks, the thread continues with the chain that was left on that stack, or an empty one.
 *
 * An activation belongs to an instrumented function or is "foreign".  Foreign code has no slots:
 * C library, dynamic linker, PLT stubs, the runtime, uninstrumented files.  The context that is
 * expected of a sample consists of
 *
 * - for each activation of an instrumented function, from the outermost inwards: the function and
 *   the call instruction in it that is in progress; the innermost one has no call;
 *
 * - SIGNAL where a signal arrived, after the interrupted function as if that were innermost;
 *
 * - nothing for foreign activations, whether one or more in a row.  They belong to their caller,
 *   and the decoder shows at most one mark for them.  A call of a PLT stub, of the dynamic linker's
 *   resolver after it and of the function that it finds is one activation that jumps pass on.
 *
 * The runtime's push and pop are not functions of the program but parts of slots.  While they run,
 * the function whose slot it is counts as innermost, whether they were called or jumped to.  In
 * what they call, the function is not at any of its calls.
 *
 * The witness needs the table for three things: which code belongs to which instrumented function,
 * which bytes belong to which site, and where push and pop are.  It sees all else.
 */
#ifndef ORACLE_CHAIN_H
#define ORACLE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/oracle/digest.h"
#include "tests/oracle/insn.h"
#include "tests/oracle/space.h"

/*
 * Digests of a chain for the names of contexts: of the call in progress in each frame, of each
 * interrupted instruction and of the innermost instruction.  Addresses are those of the file, so
 * that they are the same wherever it is loaded.
 */
struct chain_keys {
	uint64_t exact;	 /* each call by its address; r11 too where a helper was interrupted */
	uint64_t source; /* copies of one source call are the same */
};

enum activation_kind { ACTIVATION_CALL, ACTIVATION_SIGNAL };

struct activation {
	enum activation_kind kind;
	uint64_t ret_slot; /* where its return address is; the signal frame */
	uint64_t stack_lo, stack_hi;
	const struct file *file; /* what it is in now */
	uint32_t func;		 /* PCCE_NONE: foreign */
	bool was_foreign;	 /* it has come here through foreign code */
	bool came_back;		 /* tail calls have led to a function that it had left */
	bool hidden;		 /* a SIGNAL that counts as foreign code */
	uint64_t
		calls; /* address of the call instruction in progress, or of the jump to a helper */
	uint32_t site; /* canonical site of that, or PCCE_NONE */
	size_t first_left;	/* functions left by tail calls: left[first_left ..), up to the next
			       activation's */
	uint64_t digest, n;	/* of all frames outside of this activation */
	uint64_t notes;		/* a hash of all that these frames' digests leave out */
	struct chain_keys keys; /* of these frames */
	bool unfilled;		/* a signal has interrupted one of them: see chain_unfilled() */
};

struct moment { /* registers, as far as they matter */
	uint64_t ip, sp, r11;
};

struct chain {
	struct activation *a;
	size_t n, capacity;
	size_t n_signals; /* activations of kind SIGNAL */
	uint64_t *left;	  /* left_name() of each */
	size_t n_left, left_capacity;
	uint64_t lo, hi;       /* ip in here: nothing to find out */
	bool in_helper;	       /* jumped to push or pop; a[n - 1] stays what it was */
	struct chain *resting; /* chains of this thread that are on other stacks */
	uint64_t sp;	       /* where a resting chain was left */
};

/* The context that is expected of a sample at this moment. */
struct expected {
	uint64_t digest, n; /* frames of kind CALL and SIGNAL */
	uint64_t notes;
	bool foreign; /* ip is in foreign code other than a helper */
};

void chain_begin(struct chain *c, struct space *s, struct moment now);
/* A child that shares memory and thread pointer begins on another stack.  Its chain is that of its
 * parent. */
void chain_other_stack(struct chain *c, struct space *s, struct moment now);
void chain_copy(struct chain *to, const struct chain *from);
void chain_free(struct chain *c);

/* An instruction of this kind at `before` has been executed.  After a call, the return address is
 * at now.sp. */
void chain_step(struct chain *c, struct space *s, enum insn insn, struct moment before,
		struct moment now);
/* The kernel has put a signal frame on the stack [lo, hi), or on the one that was in use (0, 0). */
void chain_signal(struct chain *c, struct space *s, struct moment before, struct moment now,
		  uint64_t lo, uint64_t hi);
void chain_sigreturn(struct chain *c, struct space *s, struct moment now);

struct expected chain_expected(struct chain *c, struct space *s, uint64_t ip);

/* Has a signal of the chain interrupted such code, or a longjmp that has claimed entries and not
 * filled them?  See space_is_unfilled().  Then the names of contexts depend on what the page had
 * before. */
bool chain_unfilled(const struct chain *c);
struct chain_keys chain_keys(const struct chain *c, struct space *s, struct moment now);

/* What chain_rewind() needs to end all activations that were made since; nothing else may have
 * happened. */
struct chain_mark {
	struct chain chain;
	struct activation top;
};

struct chain_mark chain_mark(const struct chain *c);
void chain_rewind(struct chain *c, const struct chain_mark *mark);
/* Is the stack pointer on the stack of the innermost activation, with `room` bytes below it? */
bool chain_has_room(const struct chain *c, uint64_t sp, uint64_t room);

uint64_t frame_element(uint32_t module, uint32_t func, uint32_t site);

static inline uint64_t left_name(uint32_t module, uint32_t func)
{
	return (uint64_t)module << 32 | func;
}

#define SIGNAL_ELEMENT 0x51971a1ULL

#endif

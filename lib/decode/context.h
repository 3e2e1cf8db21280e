/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the decoder's input and output: the modules of an address space, and a calling context as
 * a list of frames with a status.
 */
#ifndef PCCE_DECODE_CONTEXT_H
#define PCCE_DECODE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>
#include <pcce/table.h>

/* A checked view of an encoding table; see elf/encoding_table.h for making one. */
struct encoding_table;

/* A module's executable mapping in a process when the sample was taken. It has no padding, since
 * address spaces are compared as bytes (stream/address_space.c). */
struct decode_module {
	uint64_t start, end;		    /* run-time addresses */
	uint64_t vaddr;			    /* link-time address of start */
	uint32_t module;		    /* the number that the caller gave it */
	uint32_t main_executable;	    /* 1: short ext values are its link-time addresses */
	const struct encoding_table *table; /* NULL: not instrumented */
};

_Static_assert(sizeof(struct decode_module) == 40, "no padding");

static inline uint64_t decode_run_time(const struct decode_module *m, uint64_t vaddr)
{
	return vaddr - m->vaddr + m->start;
}

static inline uint64_t decode_link_time(const struct decode_module *m, uint64_t address)
{
	return address - m->start + m->vaddr;
}

/* find returns the mapping that holds a run-time address, or NULL. mapping returns the mapping of a
 * number, from 0 on; NULL: there are no more. */
struct decode_space {
	const struct decode_module *(*find)(const struct decode_space *as, uint64_t address);
	const struct decode_module *(*main_module)(const struct decode_space *as);
	const struct decode_module *(*mapping)(const struct decode_space *as, size_t number);
	bool missing; /* a module has PCCE_TABLE_MISSING */
};

enum decode_status {
	DECODE_EXACT,
	/* exact except for unknown entries, or with a reason that truncates: see
	 * DECODE_FRAME_GAP */
	DECODE_TRUNCATED,
	DECODE_OUTSIDE,	    /* the thread has no page */
	DECODE_UNDECODABLE, /* see reason; a GAP follows the frames that were found before */
	DECODE_UNKEPT,	    /* samples whose contexts are not in the recording: no frames */
};

enum decode_reason {
	DECODE_REASON_NONE,
	DECODE_REASON_READ_FAULT,   /* the sampler could not read the page */
	DECODE_REASON_LOST_ID,	    /* the runtime could not know the id */
	DECODE_REASON_NO_EDGE,	    /* no in-edge of the function holds the id */
	DECODE_REASON_NOT_ROOT,	    /* id 0 in a function in which no segment can begin */
	DECODE_REASON_UNKNOWN_SITE, /* an entry or ext names no site */
	/* a push of a direct call led to a function that is not its callee */
	DECODE_REASON_WRONG_CALLEE,
	/* ext is set, but ip is in instrumented code outside that site */
	DECODE_REASON_STALE_EXT,
	/* the runtime is restoring the state, for example after a non-local jump */
	DECODE_REASON_RESTORING,
	/* truncated: calls of a module that is instrumented and not encoded may be missing */
	DECODE_REASON_NOT_ENCODED,
	/* another task used the thread page at the same time */
	DECODE_REASON_SHARED_PAGE,
	/* the program has continued elsewhere without a call, by a signal handler for example */
	DECODE_REASON_REDIRECTED,
	/* truncated: a debugger may have made the thread call a function, so all may be wrong */
	DECODE_REASON_TRACED,
	/* a signal interrupted code with hybrid encoding; the stack pointer there is not known */
	DECODE_REASON_INTERRUPTED,
	DECODE_REASON_COUNT
};

enum decode_frame_kind {
	DECODE_FRAME_CALL, /* a function of an instrumented module */
	DECODE_FRAME_TAIL, /* the same, left by a tail call: key is 0 */
	/*
	 * uninstrumented code, known only by ip; innermost or between segments. Without an address
	 * outermost: an uninstrumented program, which called an instrumented library
	 */
	DECODE_FRAME_FOREIGN,
	DECODE_FRAME_GAP,    /* frames are missing here */
	DECODE_FRAME_SIGNAL, /* a signal came here; it interrupted the next outer frame */
	/* the thread begins here; the next outer frame, in another thread, created it */
	DECODE_FRAME_ORIGIN
};

struct decode_frame {
	enum decode_frame_kind kind;
	uint32_t module; /* decode_module.module; UINT32_MAX if unknown */
	uint32_t func;	 /* index into the table's funcs; PCCE_NONE for FOREIGN and GAP */
	/*
	 * index into the table's sites: the call to the next inner frame. PCCE_NONE in the
	 * innermost frame, in an interrupted one and in all kinds except CALL
	 */
	uint32_t site;
	/*
	 * run-time address of the call instruction; in the innermost frame ip, or the call
	 * instruction that a push or pop helper at ip works for; 0: unknown
	 */
	uint64_t address;
	/* this frame and the span - 1 inner ones before it occur repeat + 1 times */
	uint32_t repeat;
	uint32_t span;
	bool whole;    /* address is one of several in this innermost function */
	bool restored; /* its place in the sequence is known by unwinding: restored.h */
	bool counting; /* FOREIGN: code that pcce-record --count added */
	/* functions that tail calls have left may lie between this frame and the next inner one */
	bool open;
};

/*
 * A decoded context: its frames, innermost first. Can be used again for the next sample; it keeps
 * its memory.
 */
struct decode_context {
	struct decode_frame *frames;
	size_t n, capacity;
	uint64_t depth; /* frames with all repetitions counted */
	/*
	 * the number of given entries below the thread's own stack, with its origin entries; 0: the
	 * creation context is not known
	 */
	uint32_t origin;
	enum decode_status status;
	enum decode_reason reason;
	uint32_t *scratch; /* private to the decoder */
	size_t n_scratch;
};

void decode_context_free(struct decode_context *ctx);

const char *decode_reason_name(enum decode_reason reason);
/* Has a context with this reason its frames, and is truncated? All others are undecodable. */
bool decode_reason_truncates(enum decode_reason reason);

#endif

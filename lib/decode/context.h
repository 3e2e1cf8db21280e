/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the decoder works on and what it gives back: modules in an address space, and a calling
 * context as a list of frames with a status.
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

/* A module at its place in a process's memory while the sample was taken. */
struct decode_module {
	uint64_t start, end;		    /* run-time addresses of this executable mapping */
	uint64_t vaddr;			    /* link-time address of start */
	uint32_t module;		    /* the caller's number for it */
	bool main_executable;		    /* short ext values are its link-time addresses */
	const struct encoding_table *table; /* NULL: not instrumented */
};

static inline uint64_t decode_run_time(const struct decode_module *m, uint64_t vaddr)
{
	return vaddr - m->vaddr + m->start;
}

static inline uint64_t decode_link_time(const struct decode_module *m, uint64_t address)
{
	return address - m->start + m->vaddr;
}

/* Finds the mapping that holds a run-time address, or NULL. */
struct decode_space {
	const struct decode_module *(*find)(const struct decode_space *as, uint64_t address);
	const struct decode_module *(*main_module)(const struct decode_space *as);
};

enum decode_status {
	DECODE_EXACT,
	DECODE_TRUNCATED,   /* exact but for entries that are not known: see frame kind GAP */
	DECODE_OUTSIDE,	    /* the thread has no page */
	DECODE_UNDECODABLE, /* reason says why; the frames found before are given, a GAP follows
			       them */
};

enum decode_reason {
	DECODE_REASON_NONE,
	DECODE_REASON_READ_FAULT,   /* the sampler could not read the page */
	DECODE_REASON_LOST_ID,	    /* the id was lost: no memory for so deep a stack */
	DECODE_REASON_NO_EDGE,	    /* no in-edge of the function holds the id */
	DECODE_REASON_NOT_ROOT,	    /* id 0 in a function in which no segment can begin */
	DECODE_REASON_UNKNOWN_SITE, /* an entry or ext names no site */
	DECODE_REASON_WRONG_CALLEE, /* a push of a direct call leads to another function than its
				       callee */
	DECODE_REASON_STALE_EXT,    /* ext is set while the ip is in instrumented code outside that
				       site */
	DECODE_REASON_RESTORING,    /* the runtime is putting the state back, after a non-local jump
				       for instance */
	DECODE_REASON_MIXED, /* samples were counted together, and not all of them need mean the
				same */
	DECODE_REASON_COUNT
};

enum decode_frame_kind {
	DECODE_FRAME_CALL,    /* a function of an instrumented module */
	DECODE_FRAME_TAIL,    /* the same, left by a tail call: key is 0 */
	DECODE_FRAME_FOREIGN, /* code that is not instrumented, found from ip alone; only innermost,
			       * or between segments
			       */
	DECODE_FRAME_GAP,     /* frames are missing here */
	DECODE_FRAME_SIGNAL,  /* a signal came here: the next outer frame is what it interrupted */
	DECODE_FRAME_ORIGIN   /* the thread begins here: the next outer frame is what created it, in
				 another one */
};

struct decode_frame {
	enum decode_frame_kind kind;
	uint32_t module; /* mapped_module.module; UINT32_MAX if unknown */
	uint32_t func;	 /* index into the table's funcs; PCCE_NONE for FOREIGN and GAP */
	uint32_t site; /* index into the table's sites: the call from here to the next inner frame;
			* PCCE_NONE where there is none: the innermost, an interrupted one, and
			* every kind but CALL */
	uint64_t address; /* run-time: the call instruction; for the innermost frame ip, unless that
			   * is in a push or pop helper: then the call instruction it works for. 0
			   * where unknown */
	uint32_t repeat;  /* this frame and the span - 1 before it (further in) stand repeat + 1
			     times; else 0 */
	uint32_t span;
};

/* Frames, innermost first. Reused between calls: decode_context grows it. */
struct decode_context {
	struct decode_frame *frames;
	size_t n, capacity;
	uint64_t depth;	 /* frames with all repetitions counted */
	uint32_t origin; /* entries, of those that were given, up to where the thread's own stack
			  * begins; 0: it is not known where the thread comes from */
	enum decode_status status;
	enum decode_reason reason;
	uint32_t *scratch; /* private to the decoder */
	size_t n_scratch;
};

void decode_context_free(struct decode_context *ctx);

const char *decode_reason_name(enum decode_reason reason);

#endif

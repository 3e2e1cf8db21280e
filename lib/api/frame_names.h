/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names decoded frames and finds their places: what pcce-report shows of a frame, and what
 * libpcce-decode gives.  Names are strings of the symbol table.
 */
#ifndef PCCE_API_FRAME_NAMES_H
#define PCCE_API_FRAME_NAMES_H

#include "decode/context.h"
#include "symbols/symbol_table.h"

/* The outermost frame of a sample whose thread has no page. */
#define FRAME_NAMES_NO_PAGE "[thread without pcce]"

/* The only frame of samples whose contexts the recording did not keep (--hot). */
#define FRAME_NAMES_UNKEPT "[cold]"

/* The outermost frame of an instrumented library in a program that is not instrumented. */
#define FRAME_NAMES_CALLER "[uninstrumented caller]"

/* The innermost frame of a sample in the code that pcce-record --count has added. */
#define FRAME_NAMES_COUNTING_CODE "[counting]"

/* What the name of a frame depends on. */
struct frame_names_key {
	uint64_t vaddr; /* where the frame calls on, or ip, link-time; 0: unknown */
	uint32_t kind;	/* enum decode_frame_kind */
	uint32_t module, func;
	uint32_t outer_module; /* of the next outer frame, if its call is known; else UINT32_MAX */
	uint32_t extra;	       /* see frame_names_extra() */
};

/* The link-time address of a frame: its call instruction, or ip. 0: unknown. */
uint64_t frame_names_vaddr(const struct symbol_table *names, const struct decode_space *as,
			   const struct decode_frame *f);

/* Tells frames of one kind without an address apart. GAP: 0: truncated, else 1 + enum
 * decode_reason; FOREIGN: 0: it has an address, 1: not, else 2 + the site that calls it by name.
 * FRAME_NAMES_OUTERMOST: nothing is further out. FRAME_NAMES_COUNTING: it counts calls. */
#define FRAME_NAMES_OUTERMOST UINT32_MAX
#define FRAME_NAMES_COUNTING (UINT32_MAX - 1)
uint32_t frame_names_extra(const struct decode_context *ctx, size_t i);

/* The inline chain at an address, innermost first: its length, 0 if nothing is known. */
size_t frame_names_chain(const struct symbol_table *names, uint32_t module, uint64_t vaddr,
			 const struct symbol_table_entry **chain);

/* The line that the encoding table knows for a call at this address; 0: none. */
uint32_t frame_names_site_line(const struct symbol_table *names, uint32_t module, uint64_t vaddr);

/* The name of a frame; of a function with inlined ones, that of the function itself. UINT32_MAX:
 * no memory. */
uint32_t frame_names_get(struct symbol_table *names, const struct frame_names_key *key);

/* The name of an address in the kernel; kernel: its module, or UINT32_MAX. *known: the module's
 * symbols have it. UINT32_MAX: no memory. */
uint32_t frame_names_kernel(struct symbol_table *names, uint32_t kernel, uint64_t kip, bool *known);

/* The name of what a thread waits for: of the outermost of n frames of the kernel, which is a
 * PCCE_WAIT_*. UINT32_MAX: no memory. */
uint32_t frame_names_wait(struct symbol_table *names, uint32_t kernel, const uint64_t *frames,
			  size_t n);

#endif

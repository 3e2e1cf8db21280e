/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Hybrid encoding: where the distance from the segment's base tells a context apart, calls need no
 * addition. Sumner, Zheng, Weeratunge, Zhang: Precise Calling Context Encoding, ICSE 2010, section
 * 6. include/pcce/table.h says what the table holds of it, docs/slots.md what the slots execute.
 *
 * Differences from the paper:
 *
 *  - Recursion, calls through pointers and callbacks begin segments. Each segment has a base.
 *  - A function whose frame is not fixed begins a segment, and so does each of its calls. The same
 *    holds for one that calls setjmp or the like.
 *  - A site with tail calls behind it leads to several functions. It is implicit if it can be so in
 *    all of them.
 *  - Callers come before callees, and the hot sites of a caller first. So the first sites that
 *    reach a function become implicit, not those with the smallest numbers.
 */
#ifndef PCCE_ENCODE_HYBRID_H
#define PCCE_ENCODE_HYBRID_H

#include <pcce/table.h>
#include "elf/frame_sizes.h"
#include "encode/callgraph.h"

/* The paper's cases of an edge with a value. */
enum hybrid_case {
	HYBRID_EXPLICIT, /* a: it adds */
	HYBRID_IMPLICIT, /* b: it does nothing */
	HYBRID_GUARDED	 /* c: it adds to an id that is not 0 */
};

struct hybrid {
	struct frame_sizes frames;
	uint8_t *roots;	 /* of each function: segments begin here, or come here by tail calls */
	uint8_t *moving; /* of each function: nothing depends on its depth */
	uint8_t *cases;	 /* of each edge of the numbering's graph: enum hybrid_case */
	/* as in the table, but site is an edge of the graph */
	struct pcce_table_implicit *implicit;
	size_t n_implicit;
	/* private */
	uint32_t *sizes; /* of each edge: the caller's frame */
};

/*
 * Makes the graph one that can be numbered for hybrid encoding: each function keeps the id 0, and
 * calls from and of frames that are not fixed are pushes. Returns 0, or -errno with a sentence
 * fragment in why: a function has no room, for example.
 */
int hybrid_prepare(struct hybrid *h, struct callgraph *cg, const struct elf_module *m,
		   struct error *why);
/* The largest num_cc that the numbering may give. */
#define HYBRID_LIMIT (1ull << 30)
/* Decides the cases, and makes values and numbers of contexts multiples of 2^32. Returns as above.
 */
int hybrid_decide(struct hybrid *h, const struct callgraph *cg, struct numbering *n,
		  struct error *why);
void hybrid_free(struct hybrid *h);

#endif

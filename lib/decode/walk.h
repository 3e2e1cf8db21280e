/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The decoder's state on its way from a sample's registers to the bottom of its encoding stack. All
 * parts of the decoder share it.
 */
#ifndef PCCE_DECODE_WALK_H
#define PCCE_DECODE_WALK_H

#include <pcce/sites.h>
#include "decode/context.h"

/* The callee side of the next entry: the code that the last step reached. */
enum walk_inner {
	/* func is a root and its caller pushed, or func must be climbed from */
	WALK_INNER_ROOT,
	WALK_INNER_ENTERED, /* func is a root that has just been entered */
	WALK_INNER_FOREIGN, /* code without slots */
	WALK_INNER_UNKNOWN  /* a gap: unknown frames */
};

struct walk {
	const struct decode_space *as;
	const struct pcce_entry *entries;
	struct decode_context *ctx;
	bool expand, origins;

	uint64_t id, ext; /* the state at the point that the decoder has reached */
	const struct decode_module *m;
	uint32_t func;
	enum walk_inner inner;

	uint64_t deeper; /* number of unknown entries below entries[0] */
	uint32_t n_entries;
	uint32_t top;  /* entries[0 .. top) are left */
	uint32_t used; /* repetitions of entries[top - 1] that are consumed */
	uint32_t gap;  /* entries are missing below entries[gap]; UINT32_MAX: none */
	/* frames up to the one in which an exception has landed; 0: none has */
	size_t landing;
	const struct encoding_table *landing_table; /* of that frame's module */
	uint32_t landing_pad; /* its restore site there; PCCE_NONE: not known */
	bool open;	      /* the next call frame is open: see context.h */
	bool truncated;
	bool not_encoded; /* code that is not encoded may be missing */
	bool traced;	  /* see DECODE_REASON_TRACED */
	bool no_memory;
	bool in_parts; /* may stop between two segments, with more of them below: */
	bool more, stopped;
	bool interrupted; /* the state is that of code which a signal interrupted */
	bool climbed;	  /* a part begins: func is a root already */
};

void walk_emit(struct walk *w, enum decode_frame_kind kind, const struct decode_module *m,
	       uint32_t func, uint32_t site, uint64_t address);
/* Marks that calls of a module without a table may be missing here, if there is such a module. */
void walk_mark_missing(struct walk *w);
void walk_emit_call(struct walk *w, const struct decode_module *m, uint32_t site);

enum walk_top { WALK_TOP_ENTRY, WALK_TOP_SIGNAL, WALK_TOP_GAP, WALK_TOP_EMPTY };

static inline uint64_t walk_entry_count(const struct pcce_entry *e)
{
	return e->site >> PCCE_SITE_BITS;
}

enum walk_top walk_top(struct walk *w);
bool walk_has_record(struct walk *w);
void walk_drop_entry(struct walk *w);
void walk_drop_repetition(struct walk *w);

/*
 * The state has reached w->func at an instruction of it. With hybrid encoding, makes the lower half
 * of the id the depth of the function. Returns false if it is not known.
 */
bool walk_settle(struct walk *w, uint64_t vaddr);

const struct decode_module *walk_find_module(const struct walk *w, uint64_t address);
const struct decode_module *walk_find_site(const struct walk *w, uint64_t address, uint8_t kind,
					   uint32_t *site);
const struct decode_module *walk_find_ext(const struct walk *w, uint32_t *site);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From a sample's registers to the bottom of its encoding stack, as far as that way has been gone:
 * what the parts of the decoder share. */
#ifndef PCCE_DECODE_WALK_H
#define PCCE_DECODE_WALK_H

#include <pcce/sites.h>
#include "decode/context.h"

/* What the segment that was just finished hangs under. */
enum walk_inner {
	WALK_INNER_ROOT,    /* func is a root; the caller pushed. Or it is to be climbed from */
	WALK_INNER_ENTERED, /* func is a root that has just been entered */
	WALK_INNER_FOREIGN, /* code without slots */
	WALK_INNER_UNKNOWN  /* a gap: anything may have been here */
};

struct walk {
	const struct decode_space *as;
	const struct pcce_entry *entries;
	struct decode_context *ctx;
	bool expand, origins;

	uint64_t id, ext; /* the state, at the point that was reached */
	const struct decode_module *m;
	uint32_t func;
	enum walk_inner inner;

	uint64_t deeper; /* entries below entries[0] that are not known */
	uint32_t n_entries;
	uint32_t top;	/* entries[0 .. top) are left */
	uint32_t used;	/* repetitions of entries[top - 1] that are consumed */
	uint32_t gap;	/* entries are missing below entries[gap]; UINT32_MAX: none */
	size_t landing; /* frames up to the one in which an exception has just arrived; 0: it has
			   not */
	const struct encoding_table *landing_table; /* of that one's module */
	uint32_t landing_pad;			    /* a site in it, or PCCE_NONE: not known */
	bool truncated;
	bool no_memory;
};

void walk_emit(struct walk *w, enum decode_frame_kind kind, const struct decode_module *m,
	       uint32_t func, uint32_t site, uint64_t address);
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

const struct decode_module *walk_find_module(const struct walk *w, uint64_t address);
const struct decode_module *walk_find_site(const struct walk *w, uint64_t address, uint8_t kind,
					   uint32_t *site);
const struct decode_module *walk_find_ext(const struct walk *w, uint32_t *site);

#endif

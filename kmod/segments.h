/* SPDX-License-Identifier: GPL-2.0 */
/* The encoding stack below the current segment: read once, and named ever after. */
#ifndef PCCE_SEGMENTS_READ_H
#define PCCE_SEGMENTS_READ_H

#include "reading.h"
#include "session.h"

/* The encoding stack, as the thread page has it. */
struct pcce_stack {
	u64 page, area;
	u64 below; /* the generation of the segment below the current one */
	u32 off, place;
};

int pcce_segments_make(struct pcce_session *s);
void pcce_segments_free(struct pcce_session *s);

/*
 * For the handler: of the r->n_below segments, those that have not been sent yet go behind the
 * r->n_entries entries at to. Sets what r says of them.
 */
void pcce_read_segments(const struct pcce_session *s, struct pcce_cpu *c,
			const struct pcce_stack *stack, void *to, size_t room,
			struct pcce_reading *r);
/* Those are in the reader's hands now: from here on other samples name them. */
void pcce_segments_sent(const struct pcce_session *s, const struct pcce_cpu *c, const void *record,
			const struct pcce_reading *r);

#endif

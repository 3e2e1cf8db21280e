/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the reader of the encoding stack below the current segment. */
#ifndef PCCE_SEGMENTS_READ_H
#define PCCE_SEGMENTS_READ_H

#include "reading.h"
#include "session.h"

size_t pcce_segments_bytes(void); /* what make allocates */
int pcce_segments_make(struct pcce_session *s);
void pcce_segments_free(struct pcce_session *s);

/*
 * For the handler: reads those of the r->n_below segments that have not been sent yet, behind the
 * r->n_entries entries at `to`, which has room bytes. Sets the fields of r that describe them.
 */
void pcce_read_segments(const struct pcce_session *s, struct pcce_cpu *c,
			const struct pcce_page_stack *stack, void *to, size_t room,
			struct pcce_reading *r);
/* The reader can see these segments now: from here on other samples only name them. */
void pcce_segments_sent(const struct pcce_session *s, const struct pcce_cpu *c, const void *record,
			const struct pcce_reading *r);

#endif

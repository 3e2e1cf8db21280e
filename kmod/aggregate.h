/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the aggregation of equal samples in the kernel. */
#ifndef PCCE_AGGREGATE_H
#define PCCE_AGGREGATE_H

#include "session.h"

size_t pcce_aggregate_bytes(const struct pcce_session *s); /* what make allocates, if needed */
int pcce_aggregate_make(struct pcce_session *s);
void pcce_aggregate_free(struct pcce_session *s);

/* Empties the segment that user space has read, makes it the current one, and gives the other one
 * to user space. */
void pcce_aggregate_rotate(struct pcce_session *s, struct pcce_kmod_rotate *rotate);

/* For the handler: like pcce_ring_reserve() and pcce_ring_commit(), but in this segment. */
void *pcce_aggregate_reserve(struct pcce_session *s, struct pcce_cpu *c, u32 segment, size_t *room);
void pcce_aggregate_commit(struct pcce_session *s, struct pcce_cpu *c, u32 segment);

#endif

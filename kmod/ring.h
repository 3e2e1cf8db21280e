/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the memory of a session that user space maps, and the rings in it. pcce/kmod.h specifies
 * the protocol. */
#ifndef PCCE_RING_H
#define PCCE_RING_H

#include "session.h"

struct vm_area_struct;

/* Allocates the rings for s->config, and sets its offsets. Returns 0 or -errno. */
int pcce_rings_make(struct pcce_session *s);
/* Frees the rings. No handler may be running. */
void pcce_rings_free(struct pcce_session *s);
int pcce_rings_map(struct pcce_session *s, struct vm_area_struct *vma);
/* Does a ring hold at least the watermark? */
bool pcce_rings_ready(const struct pcce_session *s);

/* For the handler. Returns where it may write a record of up to *room bytes, at least PCCE_SHORT,
 * or NULL. A stack has room in addition. Commit publishes the record that it has written
 * there. */
void *pcce_ring_reserve(struct pcce_session *s, struct pcce_cpu *c, size_t *room);
void pcce_ring_commit(struct pcce_session *s, struct pcce_cpu *c, u32 size);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a session that user space maps, and the rings in it. The protocol stands in
 * pcce/kmod.h. */
#ifndef PCCE_RING_H
#define PCCE_RING_H

#include "session.h"

struct vm_area_struct;

/* For s->config, which gets the offsets. 0 or -errno. */
int pcce_rings_make(struct pcce_session *s);
/* No handler may be at work. */
void pcce_rings_free(struct pcce_session *s);
int pcce_rings_map(struct pcce_session *s, struct vm_area_struct *vma);
/* Does a ring hold more than the watermark? */
bool pcce_rings_ready(const struct pcce_session *s);

/* For the handler. Where a record of up to room bytes may be written, PCCE_SHORT at least, or NULL;
 * then the record that has been written there. */
void *pcce_ring_reserve(struct pcce_session *s, struct pcce_cpu *c, size_t *room);
void pcce_ring_commit(struct pcce_session *s, struct pcce_cpu *c, u32 size);

#endif

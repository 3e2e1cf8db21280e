/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the copy of a thread's labels (PCCE_KMOD_LABELS). */
#ifndef PCCE_KMOD_LABELS_COPY_H
#define PCCE_KMOD_LABELS_COPY_H

#include <pcce/labels.h>

#include "reading.h"
#include "session.h"

/* What a record has room for, beside all else. */
static inline u32 pcce_labels_room(const struct pcce_kmod_setup *config)
{
	return config->flags & PCCE_KMOD_LABELS ? PCCE_LABELS_BYTES : 0;
}

/* For the handler: copies current's labels behind all else that r counts of the record at `to`.
 * Sets r->n_labels. Copies nothing if the session does not ask for it, or may not see them. */
void pcce_read_labels(const struct pcce_session *s, void *to, struct pcce_reading *r);

#endif

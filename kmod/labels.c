// SPDX-License-Identifier: GPL-2.0
/*
 * Copies a thread's labels (pcce/labels.h). They are memory of the program, at an address that it
 * names itself. As with stacks, a session without privilege gets none of processes that are not
 * dumpable.
 */
#include <linux/string.h>

#include "compat.h"
#include "labels.h"

void pcce_read_labels(const struct pcce_session *s, void *to, struct pcce_reading *r)
{
	void *labels = to + pcce_record_size(r);

	if (!r->labels || !(s->config.flags & PCCE_KMOD_LABELS) ||
	    !(READ_ONCE(s->privileged) || pcce_is_dumpable(current)))
		return;
	r->n_labels = pcce_copy_labels(labels, r->labels, pcce_read_user);
	/* What is no record must leave no trace in the ring, since others can read the ring. */
	if (!r->n_labels)
		memset(labels, 0, sizeof(struct pcce_labels_record));
	r->flags |= r->n_labels << PCCE_SAMPLE_LABELS_SHIFT;
}

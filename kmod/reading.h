/* SPDX-License-Identifier: GPL-2.0 */
/* Describes what is read of a thread: the layout of its page in a record, and the reader of user
 * memory. */
#ifndef PCCE_READING_H
#define PCCE_READING_H

#include <linux/uaccess.h>
#include <pcce/page_reader.h>

/* Offset of the entries, in the page as in a record: the page is read over the record's
 * beginning. */
#define PCCE_HEAD offsetof(struct pcce_page, entry)

/* Most bytes of a record without segments below the current one, and without a stack. */
#define PCCE_SHORT (PCCE_HEAD + PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry))

struct pcce_reading {
	u64 id, ext, below;
	u64 labels; /* address of the variable that names them; 0: none */
	u32 flags;  /* PCCE_SAMPLE_* */
	u32 n_entries, n_segments, n_below, n_stack, n_kernel, n_labels;
	bool has_page;
};

static inline size_t pcce_record_size(const struct pcce_reading *r)
{
	return PCCE_HEAD + r->n_entries * sizeof(struct pcce_entry) +
	       r->n_segments * sizeof(struct pcce_segment) +
	       (r->n_stack + r->n_kernel + r->n_labels) * sizeof(u64);
}

/* Is a pcce_read_fn. */
static inline int pcce_read_user(void *to, u64 from, u64 bytes)
{
	return !copy_from_user_nofault(to, (const void __user *)from, bytes);
}

#endif

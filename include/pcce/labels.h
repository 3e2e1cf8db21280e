/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the labels of a thread, and copies them for a sample: the thread context record of
 * OpenTelemetry (OTEP 4947).
 *
 * A thread has a variable otel_thread_ctx_v1, thread-local and global in its program. It is 0, or
 * the address of a struct pcce_labels_record: the identity of what the thread works on. The
 * thread is its only writer. A reader has interrupted that very thread, so the record needs no
 * atomic instruction: while it changes, `valid` is not 1, or another one is in use.
 *
 * Attributes follow the record: an index of a key, a length, and that many bytes of UTF-8, without
 * padding. If an index occurs twice, the last one counts. The process says which keys the indices
 * mean (OTEP 4719). A record that the pcce runtime has written also says it itself: an attribute
 * with the index PCCE_LABELS_NAME is the index of a key, one byte, and then the key. No process has
 * as many keys, so other readers ignore it.
 *
 * The runtime names the variable in the thread page (pcce_page.labels). A sampler calls
 * pcce_copy_labels() if that is not 0. It believes nothing that the program says, as page_reader.h.
 */
#ifndef PCCE_LABELS_H
#define PCCE_LABELS_H

#include <pcce/page_reader.h>

struct pcce_labels_record {
	__u8 trace[16]; /* as in W3C Trace Context; 0: none */
	__u8 span[8];
	__u8 valid; /* PCCE_LABELS_VALID; in a copy, it may be PCCE_LABELS_CUT */
	__u8 trace_flags;
	__u16 bytes; /* of the attributes that follow */
};

#define PCCE_LABELS_VALID 1
#define PCCE_LABELS_CUT 2 /* the copy lacks attributes */
#define PCCE_LABELS_NAME 255
/* The largest record, with attributes. */
#define PCCE_LABELS_BYTES 640
#define PCCE_LABELS_MORE (PCCE_LABELS_BYTES - sizeof(struct pcce_labels_record))

/* Copies the record at an address. Returns its number of words; 0: it is not valid, or cannot be
 * read. `to` has PCCE_LABELS_BYTES. */
PCCE_READER_INLINE __u64 pcce_copy_labels_record(void *to, __u64 from, pcce_read_fn *read)
{
	struct pcce_labels_record *head = (struct pcce_labels_record *)to;
	__u64 bytes, more;

	if (!from || !read(head, from, sizeof(*head)) ||
	    *(volatile __u8 *)&head->valid != PCCE_LABELS_VALID)
		return 0;
	bytes = *(volatile __u16 *)&head->bytes;
	more = bytes > PCCE_LABELS_MORE ? PCCE_LABELS_MORE : bytes;
	if (more && !read(head + 1, from + sizeof(*head), more))
		more = 0;
	if (more != bytes) {
		head->valid = PCCE_LABELS_CUT;
		head->bytes = (__u16)more;
	}
	return (sizeof(*head) + more + 7) / 8;
}

/* The same, of the record that the variable at an address names. */
PCCE_READER_INLINE __u64 pcce_copy_labels(void *to, __u64 variable, pcce_read_fn *read)
{
	__u64 record = 0;

	return read(&record, variable, sizeof(record)) ? pcce_copy_labels_record(to, record, read)
						       : 0;
}

PCCE_ASSERT_SIZE(pcce_labels_record, 28);
PCCE_ASSERT_OFFSET(pcce_labels_record, valid, 24);
PCCE_ASSERT_OFFSET(pcce_labels_record, bytes, 26);

#endif

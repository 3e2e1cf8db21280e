/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes pcce.data (include/pcce/datafile.h).
 *
 * Records are kept until there are 256 KiB of them, or until datafile_flush(). If a write fails
 * (full disk), the writer truncates the file after its last complete record, so that everything
 * before stays readable. From then on every call returns the same error, and
 * datafile_writer_error() says in one sentence what happened.
 *
 * What no reader would accept (record_check.h) is not written: datafile_put() returns -EBADMSG, and
 * datafile_writer_error() says why until the next call. The caller may go on.
 */
#ifndef PCCE_STREAM_WRITER_H
#define PCCE_STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <pcce/datafile.h>

struct datafile_writer;

/* Takes ownership of fd, and writes the file header. Messages call the file name. 0 or -errno. */
int datafile_writer_new(int fd, const char *name, struct datafile_writer **out);

/* Appends a record: the record's struct (fixed_size bytes at fixed), the parts, and zeros up to a
 * multiple of 8. Fills in the struct pcce_record at the beginning. 0 or -errno. */
int datafile_put(struct datafile_writer *w, uint32_t type, const void *fixed, size_t fixed_size,
		 const struct iovec *parts, int n_parts);
/* Appends a record whose parts are strings, each with its NUL. Cuts long strings if the record
 * would be larger than its type may be. 0 or -errno. */
int datafile_put_strings(struct datafile_writer *w, uint32_t type, const void *fixed,
			 size_t fixed_size, const char *const *strings, int n_strings);

int datafile_flush(struct datafile_writer *w);
uint64_t datafile_size(const struct datafile_writer *w);	    /* bytes at most */
const char *datafile_writer_error(const struct datafile_writer *w); /* "" without error */

/* Flushes, closes and frees. 0, or the writer's first error. */
int datafile_writer_close(struct datafile_writer *w);

#endif

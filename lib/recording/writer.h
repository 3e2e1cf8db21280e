/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes pcce.data (include/pcce/datafile.h).
 *
 * Records are collected in a buffer and written whole.  When a write fails (full
 * disk), what stands in the file is cut back to the last complete record, so that
 * everything recorded so far can be read; from then on every call returns the
 * same error, and datafile_writer_error() says in one sentence what happened.
 */
#ifndef PCCE_RECORDING_WRITER_H
#define PCCE_RECORDING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <pcce/datafile.h>

struct datafile_writer;

/* Takes fd over, writes the file header. name is for messages. 0 or -errno. */
int datafile_writer_new(int fd, const char *name, struct datafile_writer **out);

/* Appends a record. fixed: the record's struct, fixed_size bytes that begin with struct
 * pcce_record, which is filled in here; then the parts, then zeros up to a multiple of 8. 0 or
 * -errno. */
int datafile_put(struct datafile_writer *w, uint32_t type, const void *fixed, size_t fixed_size,
		 const struct iovec *parts, int n_parts);
/* The same with strings, each with its NUL. */
int datafile_put_strings(struct datafile_writer *w, uint32_t type, const void *fixed,
			 size_t fixed_size, const char *const *strings, int n_strings);

int datafile_flush(struct datafile_writer *w);
uint64_t datafile_size(const struct datafile_writer *w);	    /* bytes, written and waiting */
const char *datafile_writer_error(const struct datafile_writer *w); /* "" if there was none */

/* Flushes, closes and frees. 0, or the first error there was. */
int datafile_writer_close(struct datafile_writer *w);

#endif

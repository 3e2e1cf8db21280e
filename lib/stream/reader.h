/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads pcce.data (include/pcce/datafile.h), record by record. recording.h reads a whole recording.
 *
 * datafile_next() checks each record: its checksum, size, strings, counts and module numbers. A
 * caller can use any record of a known type without further checks. The reader works on pipes as
 * well as on files. It never maps the file, so that a file that shrinks meanwhile just ends.
 */
#ifndef PCCE_STREAM_READER_H
#define PCCE_STREAM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "base/error.h"
#include "stream/stream.h"

struct datafile_reader;

/* Opens a file and checks its header. 0, or -errno with a whole sentence in why, which names the
 * file. */
int datafile_open(const char *path, struct datafile_reader **out, struct error *why);
/* Opens a file that messages call `name`, as datafile_open() does. */
int datafile_open_as(const char *path, const char *name, struct datafile_reader **out,
		     struct error *why);
/* Opens a recording in memory, which must stay valid and be aligned to 8. */
int datafile_open_memory(const void *data, size_t size, const char *name,
			 struct datafile_reader **out, struct error *why);
void datafile_close(struct datafile_reader *r);

/* Reads the next record. Returns 1; 0 at the end, also where the file is cut off; or -errno: then
 * datafile_error() says in one sentence what is wrong and where. *rec is valid until the next call.
 * Skips and counts records of unknown types. */
int datafile_next(struct datafile_reader *r, const struct pcce_record **rec);
const char *datafile_error(const struct datafile_reader *r);

/* Position in the file of the record that datafile_next() returned last, or of the packed record
 * that it is in. */
uint64_t datafile_position(const struct datafile_reader *r);
/* How many bytes of the file that record takes: a share of the packed record that has it. */
uint32_t datafile_bytes(const struct datafile_reader *r);
/* Bytes in the file; 0 if the size is unknown (a pipe). */
uint64_t datafile_total(const struct datafile_reader *r);

/* After datafile_next() has returned 0. */
bool datafile_complete(const struct datafile_reader *r); /* the recording has its end record */
uint64_t
datafile_dropped(const struct datafile_reader *r); /* bytes of a cut-off record at the end */
uint64_t datafile_unknown(const struct datafile_reader *r); /* records of unknown types */

/* The i-th string of a record; "" if records of its type have fewer. */
const char *datafile_string(const struct pcce_record *rec, unsigned int i);

/* The name of an event by its number, in the list of names of INFO: its first character, and its
 * length. */
const char *datafile_event(const char *events, uint32_t event, size_t *length);
/* How many names the list has. More are not counted: pcce-record numbers one event less, so
 * only a damaged recording has more. */
#define DATAFILE_EVENTS 9
uint32_t datafile_events(const char *events);

/* Reads a SAMPLE, SUM or CONTEXT record; false for other types. */
bool datafile_sample(const struct pcce_record *rec, struct stream_event *out);

static inline const void *datafile_table(const struct pcce_rec_table *t, size_t *size)
{
	*size = t->rec.size - sizeof(*t);
	return t + 1;
}

#endif

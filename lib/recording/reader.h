/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads pcce.data (include/pcce/datafile.h), record after record.
 *
 * What next() hands out has been checked: its checksum, its size, its strings, its
 * counts and its module numbers; a caller can use any record of a known type
 * without looking again.  Works on pipes as well as on files, and never maps the
 * file, so a file that shrinks meanwhile is an ordinary end.
 */
#ifndef PCCE_RECORDING_READER_H
#define PCCE_RECORDING_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "base/error.h"

struct datafile_reader;

/* Opens and checks the header. 0, or -errno with a whole sentence, naming the file, in why. */
int datafile_open(const char *path, struct datafile_reader **out, struct error *why);
/* The same of a file that messages call by another name. */
int datafile_open_as(const char *path, const char *name, struct datafile_reader **out,
		     struct error *why);
/* The same on memory that stays valid and is aligned to 8; name is for messages. */
int datafile_open_memory(const void *data, size_t size, const char *name,
			 struct datafile_reader **out, struct error *why);
void datafile_close(struct datafile_reader *r);

/* The next record: 1; 0 at the end, also where the file was cut off; or -errno, and
 * datafile_error() says in one sentence what is wrong and where. *rec is valid until the next call.
 * Records of unknown types are skipped and counted. */
int datafile_next(struct datafile_reader *r, const struct pcce_record **rec);
const char *datafile_error(const struct datafile_reader *r);

/* Position in the file of the record that next() gave last. */
uint64_t datafile_position(const struct datafile_reader *r);
/* Bytes in the file, 0 if that is not known (a pipe). */
uint64_t datafile_total(const struct datafile_reader *r);

/* After next() returned 0. */
bool datafile_complete(const struct datafile_reader *r); /* the recording has its end record */
uint64_t
datafile_dropped(const struct datafile_reader *r); /* bytes of a cut-off record at the end */
uint64_t datafile_unknown(const struct datafile_reader *r); /* records of unknown types */

/* The i-th string of a record of a type that has strings. */
const char *datafile_string(const struct pcce_record *rec, unsigned int i);

/* One sample, or several that are alike. */
struct datafile_sample {
	const struct pcce_sample *sample;
	uint64_t samples, weight;
};

/* Of SAMPLE and SUM records; false of others. */
bool datafile_sample(const struct pcce_record *rec, struct datafile_sample *out);

static inline const void *datafile_table(const struct pcce_rec_table *t, size_t *size)
{
	*size = t->rec.size - sizeof(*t);
	return t + 1;
}

#endif

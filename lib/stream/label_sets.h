/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps the labels of threads: what they worked on. Many samples have the same labels, so a sample
 * has the number of its set, and a recording has each set once.
 *
 * The numbers of one source of samples count from 0. A set stays where it is as long as its table.
 */
#ifndef PCCE_STREAM_LABEL_SETS_H
#define PCCE_STREAM_LABEL_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "stream/stream.h"
#include "stream/writer.h"

struct label_set {
	uint32_t number;
	struct label_set_content {
		uint8_t trace[16], span[8]; /* 0: none */
		uint32_t flags;		    /* PCCE_LABELS_INCOMPLETE */
		uint32_t n;		    /* labels */
		uint32_t bytes;		    /* of text */
	} content;
	char trace[33], span[17]; /* the ids as hexadecimal digits; "": none */
	/* For each label its key and its value, with a NUL each, sorted by key. */
	char text[];
};

struct label_sets;

/* NULL: no memory. */
struct label_sets *label_sets_new(void);
void label_sets_free(struct label_sets *s);

/* Returns the set with this content, which may be a new one. Without room for it: one without ids,
 * or NULL. */
const struct label_set *label_sets_find(struct label_sets *s,
					const struct label_set_content *content, const char *text);
/* Returns the set of this table with the same labels, and no ids. NULL: as above. */
const struct label_set *label_sets_plain(struct label_sets *s, const struct label_set *of);
/* Adds a set of a recording, under the next number. 0 or -ENOMEM. */
int label_sets_add(struct label_sets *s, const struct pcce_rec_labels *rec);
/* NULL: there is none of this number. */
const struct label_set *label_sets_get(const struct label_sets *s, uint64_t number);
/* 1 + the number of a set; 0: NULL. */
static inline uint32_t label_sets_index(const struct label_set *set)
{
	return set ? set->number + 1 : 0;
}
size_t label_sets_count(const struct label_sets *s);

/* Returns the value of a label; NULL: the set, which may be NULL, has none of this key. The ids are
 * the labels trace_id and span_id. */
const char *label_set_value(const struct label_set *s, const char *key);
/* Goes through the labels: *key is NULL at first. Returns the next value; NULL: there is none. */
const char *label_set_next(const struct label_set *s, const char **key);

/* The sets that a recording has so far. */
struct label_sets_written {
	uint32_t *numbers; /* in the recording, by the source's number; from 1 */
	size_t capacity;
	uint32_t n;
};

/* Writes that the next sample has these labels, and the set if it is not there yet. set: NULL: does
 * nothing. 0 or -errno. */
int label_sets_write(struct label_sets_written *w, struct datafile_writer *to,
		     const struct label_set *set);
void label_sets_written_free(struct label_sets_written *w);

#endif

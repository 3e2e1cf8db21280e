/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Groups samples into streams: one for each event in each thread under each name of the thread,
 * and with each set of labels.
 *
 * Threads are renamed, and an exec renames its process, so the name depends on the time. Records
 * can be in any order, so names are known only when all records have been read.
 */
#ifndef PCCE_STREAM_SAMPLE_STREAMS_H
#define PCCE_STREAM_SAMPLE_STREAMS_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>

struct sample_streams;

struct sample_stream {
	uint32_t pid, tid;
	uint32_t event;	 /* index of the sampled event */
	uint32_t comm;	 /* the thread's name, a string of the symbol table; 0: unknown */
	uint32_t labels; /* 1 + the number of its set of labels; 0: none */
};

struct sample_streams *sample_streams_new(void);
void sample_streams_free(struct sample_streams *s);

/* Add names of processes and threads: comm is a string of the symbol table. 0 or -ENOMEM. */
int sample_streams_add_process(struct sample_streams *s, const struct pcce_rec_process *rec,
			       uint32_t comm);
int sample_streams_add_thread(struct sample_streams *s, const struct pcce_rec_thread *rec,
			      uint32_t comm);

/* The stream of a sample before names are known; UINT32_MAX: out of memory. labels: as in struct
 * sample_stream. */
uint32_t sample_streams_of(struct sample_streams *s, uint32_t pid, uint32_t tid, uint32_t event,
			   uint32_t labels);

/* After the last of the calls above. 0 or -ENOMEM. */
int sample_streams_finish(struct sample_streams *s);
/* After finish: splits a stream of sample_streams_of() by the names that its thread had. */
uint32_t sample_streams_at(const struct sample_streams *s, uint32_t stream, uint64_t time);

size_t sample_streams_count(const struct sample_streams *s);
const struct sample_stream *sample_streams_get(const struct sample_streams *s, uint32_t stream);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Numbers the threads of a recording. A thread with several names keeps the last one. */
#ifndef PCCE_STREAM_THREADS_H
#define PCCE_STREAM_THREADS_H

#include <stddef.h>
#include <stdint.h>
#include "stream/stream.h"
#include "symbols/symbol_table.h"

struct thread {
	uint32_t pid, tid;
	uint32_t name;	  /* strings of struct symbol_table; 0: none is known */
	uint32_t process; /* name of its process */
	uint32_t origin;  /* its creation context, one of profile.origins; 0: not known;
			     THREAD_ORIGIN_SEVERAL: it has several */
};

/* Several threads had this number one after the other, or pcce-merge joined them. */
#define THREAD_ORIGIN_SEVERAL UINT32_MAX

struct threads;

struct threads *threads_new(struct symbol_table *names);
void threads_free(struct threads *t);

/* Returns the stage that sees the records of a recording. */
struct stream *threads_stage(struct threads *t, struct stream *next);
/* The number of a thread that has a sample; UINT32_MAX: out of memory. */
uint32_t threads_number(struct threads *t, uint32_t pid, uint32_t tid);
void threads_set_origin(struct threads *t, uint32_t number, uint32_t origin);
/* After the last record, before the first threads_get(). */
void threads_finish(struct threads *t);

size_t threads_count(const struct threads *t);
const struct thread *threads_get(const struct threads *t, uint32_t number);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The threads of a recording: those that samples or THREAD records speak of, numbered
 * from 0 upwards in the order in which they are met.
 */
#ifndef PCCE_THREADS_H
#define PCCE_THREADS_H

#include <stddef.h>
#include <stdint.h>

struct thread {
	uint32_t pid, tid;
	char *name; /* its last, or its process's; NULL: unknown */
};

struct threads {
	struct thread *list;
	size_t n, capacity;
	uint32_t last; /* found last: samples of one thread come in rows */
	struct thread_slot *by_id;
};

/* The number of a thread; UINT32_MAX: no memory. */
uint32_t threads_number(struct threads *t, uint32_t pid, uint32_t tid);
/* 0 or -ENOMEM. */
int threads_name(struct threads *t, uint32_t pid, uint32_t tid, const char *name);
/* After the last name: a thread without one has its process's. */
int threads_finish(struct threads *t);
void threads_free(struct threads *t);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the memory of a counting engine that is private to a process: zeros after a fork. */
#ifndef PCCE_COUNT_MEMORY_H
#define PCCE_COUNT_MEMORY_H

#include <stdint.h>
#include <pcce/counting.h>

struct count_memory {
	uint64_t used;	  /* bytes behind this structure */
	uint32_t process; /* 1 + number of its first thread */
	uint32_t reserved;
	uint64_t recent; /* bytes of the last quarter */
};

/*
 * Tells the reader which libraries the process has counted. Called when there are more, and when
 * the process gets its number. So one of the two calls at least knows both.
 */
static inline void publish_loads(uint64_t memory, struct pcce_count_area *a, uint32_t loads)
{
	const struct count_memory *m = (const struct count_memory *)memory;
	uint32_t process = __atomic_load_n(&m->process, __ATOMIC_SEQ_CST), before;

	if (!process)
		return;
	before = __atomic_load_n(&a->thread[process - 1].loads, __ATOMIC_SEQ_CST);
	while (before < loads &&
	       !__atomic_compare_exchange_n(&a->thread[process - 1].loads, &before, loads, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

#endif

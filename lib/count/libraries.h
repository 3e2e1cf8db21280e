/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Answers the requests of counted processes (include/pcce/counting.h): tells them how to change the
 * libraries that they load. A thread does it, since the process waits.
 *
 * A *placement* is a library at one load address, with its stubs at one place. Processes that have
 * a library at the same address mostly share a placement. The set of placements that a process has
 * had is a chain of *loads*. A forked child goes on with the chain of its parent.
 */
#ifndef PCCE_COUNT_LIBRARIES_H
#define PCCE_COUNT_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/counting.h>
#include "count/places.h"

struct count_libraries;

struct count_libraries_config {
	struct pcce_count_area *area;
	uint64_t area_size;
	uint64_t area_inode;
	struct count_places *places; /* new modules are added */
	uint64_t engine;	     /* the function that stubs call, in every process */
	bool bursts;
	/* The executable is not instrumented. Its jumps pass libpcce.so.0 unless that comes before
	 * the C library. Then nothing is counted, since contexts would be wrong. */
	bool plain;
};

/* Begins to answer. Nobody has to ask before that. NULL: no memory, or no thread. */
struct count_libraries *count_libraries_start(const struct count_libraries_config *config);
/* Answers no more. All that follows can be called only then. */
void count_libraries_stop(struct count_libraries *l);
void count_libraries_free(struct count_libraries *l);

/* May contexts in the module of this index (count_places_address()) be decoded? The executable's
 * may. Not if the library's file has changed, or another one may have been at its place. */
bool count_libraries_is_certain(const struct count_libraries *l, size_t module);

/*
 * Calls map() for each executable segment of the libraries of a process, but uncertain ones. loads:
 * pcce_count_thread.loads. Libraries that are instrumented and not encoded are among them if any
 * process had them: contexts of all of them are marked. Returns 0, or what a call has returned,
 * which ends it.
 */
int count_libraries_each(const struct count_libraries *l, uint32_t loads,
			 int (*map)(void *ctx, uint64_t start, uint64_t length, uint64_t offset,
				    const char *path),
			 void *ctx);

/* The number of instrumented libraries that could not be counted, one of them, and why. */
uint64_t count_libraries_refused(const struct count_libraries *l, const char **path,
				 const char **why);
/* Short jumps that are not counted. */
uint64_t count_libraries_left(const struct count_libraries *l);

#endif

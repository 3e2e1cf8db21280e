/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Puts the counting engine into a process, before the first instruction of its program.
 *
 * The recorder traces the command (ptrace) from before its exec until that is done, and no longer.
 */
#ifndef PCCE_COUNT_INJECT_H
#define PCCE_COUNT_INJECT_H

#include <stdbool.h>
#include <sys/types.h>
#include <pcce/counting.h>
#include "count/linker.h"
#include "count/plan.h"

/* The engine, as userlib/count/engine.lds lays it out. */
extern const uint8_t count_engine[];
const struct pcce_count_head *count_engine_head(void);

/* Begins to trace a process that waits before its exec. */
int inject_attach(pid_t pid, struct error *why);

struct inject_request {
	const struct count_plan *plan;
	struct count_linker *linker;	 /* becomes 0 if it cannot be changed */
	uint64_t entry;			 /* link-time address of the executable's entry point */
	uint64_t first, end;		 /* its memory, link-time addresses */
	uint64_t function;		 /* of the engine: offset, from struct pcce_count_head */
	struct pcce_count_config config; /* what does not depend on the process */
	bool bursts; /* the engine is called only if pcce_count_area.burst is not 0 */
	int area;    /* file descriptor, the same in both processes */
	uint64_t area_size;
	uint64_t memory_size; /* at most this much is reserved beside the area */
};

struct inject_result {
	uint64_t bias;
	uint64_t function; /* of the engine, in the process */
	struct pcce_count_config config;
	__u64 area_size; /* mapped; less than requested if the process may not have more */
};

/*
 * Waits for the exec, injects, calls ready(), and lets the process go. Returns 0, what ready() has
 * returned, or -errno with a fragment that continues "cannot count: ". The process continues in any
 * case.
 */
int inject(pid_t pid, const struct inject_request *request,
	   int (*ready)(void *ctx, const struct inject_result *result, struct error *why),
	   void *ctx, struct inject_result *out, struct error *why);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines what libpcce-malloc.so asks of the runtime. pcce-record -e malloc puts this library
 * before the C library. It defines malloc(), free() and their kin, calls the next ones, and tells
 * the runtime what was allocated. It knows itself what is live, and adds that up in the counters of
 * the runtime. A program that was built with an older pcce does not export these functions.
 *
 * All of them keep errno, call nothing of the program, and wait for nothing that could wait for
 * them.
 */
#ifndef PCCE_ALLOCATION_H
#define PCCE_ALLOCATION_H

#include <linux/types.h>

struct pcce_self_ring;
struct pcce_self_counter;

/* Where a process counts its allocations (include/pcce/selfring.h). */
struct pcce_allocation_sums {
	struct pcce_self_ring *ring;
	struct pcce_self_counter *counters; /* NULL: it does not, or does no longer */
};

/*
 * Starts the runtime, if its constructor has not run yet. new_unseen: not 0 if operator new does
 * not call malloc(). after_fork: is called in a forked child, by the only thread. It returns
 * whether this thread was using the sums, and may still use those of its parent. Returns how many
 * bytes are between two samples (1: every allocation is one), or 0 if allocations are not sampled.
 */
__u64 pcce_allocation_begin(__u32 new_unseen, int (*after_fork)(void));

/*
 * Takes a sample of an allocation before anyone can free it. function: the allocating function.
 * caller: its return address. bytes: the weight of the sample. Returns 1 + the number of its
 * counter; 0: it has none.
 */
__u32 pcce_allocation_take(const void *function, __u64 caller, __u64 bytes);

struct pcce_allocation_sums pcce_allocation_sums(void);

#endif

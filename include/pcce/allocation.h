/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines what libpcce-malloc.so asks of the runtime. pcce-record -e malloc puts this library
 * before the C library. It defines malloc(), free() and their kin, calls the next ones, and tells
 * the runtime what was allocated and freed. A program that was built with an older pcce does not
 * export these functions.
 *
 * All of them keep errno, call nothing of the program, and wait for nothing that could wait for
 * them.
 */
#ifndef PCCE_ALLOCATION_H
#define PCCE_ALLOCATION_H

#include <linux/types.h>

/* An allocation that is followed until it is freed. */
struct pcce_allocation {
	__u64 bytes;   /* the weight of its sample */
	__u32 counter; /* 1 + the number of its context's counter; 0: it is not followed */
	__u32 reserved;
};

/*
 * Starts the runtime, if its constructor has not run yet. new_unseen: not 0 if operator new does
 * not call malloc(). Returns how many bytes are between two samples (1: every allocation is one),
 * or 0 if the process takes no samples of allocations.
 */
__u64 pcce_allocation_begin(__u32 new_unseen);

/*
 * Takes a sample of an allocation at p, before anyone can free it. function: the allocating
 * function. caller: its return address. bytes: the weight of the sample. Returns the counter, as in
 * struct pcce_allocation.
 */
__u32 pcce_allocation_take(const void *p, const void *function, __u64 caller, __u64 bytes);

/* What is at p is about to be freed. temporary: the counter of the allocation that the thread made
 * last, if it is at p; else 0. */
void pcce_allocation_free(const void *p, __u32 temporary);

/* What is at p is about to be freed or moved. Then one of the other two follows: it has gone, or it
 * has stayed. */
struct pcce_allocation pcce_allocation_leave(const void *p);
void pcce_allocation_left(struct pcce_allocation a);
void pcce_allocation_stayed(const void *p, struct pcce_allocation a);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines what libpcce-malloc.so asks of the runtime. pcce-record -e malloc puts this library
 * before the C library. It defines malloc() and its kin, calls the next ones, and then tells the
 * runtime what was allocated. A program that was built with an older pcce does not export these
 * functions.
 */
#ifndef PCCE_ALLOCATION_H
#define PCCE_ALLOCATION_H

#include <linux/types.h>

/*
 * Starts the runtime, if its constructor has not run yet. new_unseen: not 0 if operator new does
 * not call malloc(). Returns how many bytes are between two samples (1: every allocation is one),
 * or 0 if the process takes no samples of allocations.
 */
__u64 pcce_allocation_begin(__u32 new_unseen);

/*
 * Takes a sample of an allocation. function: the allocating function. caller: its return address.
 * bytes: the weight of the sample. Keeps errno, takes no lock and does not allocate.
 */
void pcce_allocation_take(const void *function, __u64 caller, __u64 bytes);

#endif

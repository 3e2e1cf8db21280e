/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the buckets in which durations are counted: 16 for each power of two, so the bounds of a
 * bucket differ by a sixteenth at most. Durations are nanoseconds; those below 16 have a bucket
 * each.
 */
#ifndef PCCE_DURATION_H
#define PCCE_DURATION_H

#include <linux/types.h>

#define PCCE_DURATION_LOG 4
#define PCCE_DURATION_GROUP (1u << PCCE_DURATION_LOG) /* buckets */
#define PCCE_DURATION_GROUPS 40u
/* Longer ones, of more than two hours, are in the last bucket. */
#define PCCE_DURATION_BUCKETS (PCCE_DURATION_GROUPS * PCCE_DURATION_GROUP)

static inline __u32 pcce_duration_bucket(__u64 ns)
{
	__u32 log, bucket;

	if (ns < PCCE_DURATION_GROUP)
		return (__u32)ns;
	log = 63 - (__u32)__builtin_clzll(ns);
	bucket = (log - PCCE_DURATION_LOG + 1) * PCCE_DURATION_GROUP +
		 (__u32)(ns >> (log - PCCE_DURATION_LOG) & (PCCE_DURATION_GROUP - 1));
	return bucket < PCCE_DURATION_BUCKETS ? bucket : PCCE_DURATION_BUCKETS - 1;
}

/* The shortest duration in a bucket. That of the next one is the end of the bucket. */
static inline __u64 pcce_duration_least(__u32 bucket)
{
	__u32 group = bucket / PCCE_DURATION_GROUP, in = bucket % PCCE_DURATION_GROUP;

	return group ? (__u64)(PCCE_DURATION_GROUP + in) << (group - 1) : in;
}

#endif

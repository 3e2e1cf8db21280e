/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counting values of any size in a fixed number of buckets: below 32 one value a
 * bucket, above that 16 buckets for each power of two.
 */
#ifndef PCCE_HTML_HISTOGRAM_H
#define PCCE_HTML_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS (61 * 16)

static inline unsigned int histogram_bucket_of(uint64_t value)
{
	unsigned int shift = value < 32 ? 0 : 59 - __builtin_clzll(value);

	return shift * 16 + (unsigned int)(value >> shift);
}

/* The least value in a bucket. */
static inline uint64_t histogram_bucket_least(unsigned int bucket)
{
	return bucket < 32 ? bucket : (uint64_t)(bucket % 16 + 16) << (bucket / 16 - 1);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Maps values of any size to a fixed number of histogram buckets. Each value below 32 has its own
 * bucket. Above, each power of two has 16 buckets.
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

/* Returns the least value of a bucket. */
static inline uint64_t histogram_bucket_least(unsigned int bucket)
{
	return bucket < 32 ? bucket : (uint64_t)(bucket % 16 + 16) << (bucket / 16 - 1);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Searches arrays that are in order. */
#ifndef PCCE_BASE_SORTED_H
#define PCCE_BASE_SORTED_H

#include <stddef.h>

/*
 * The number of elements for which the condition holds, if it holds for the first ones of n and for
 * none behind them. The condition tests element i. For example, this is the index of the first
 * element that is not below x:
 *
 *	SORTED_COUNT(i, n, list[i].key < x)
 */
#define SORTED_COUNT(i, n, condition)                               \
	({                                                          \
		size_t low_ = 0, high_ = (n);                       \
                                                                    \
		while (low_ < high_) {                              \
			const size_t i = low_ + (high_ - low_) / 2; \
                                                                    \
			if (condition)                              \
				low_ = i + 1;                       \
			else                                        \
				high_ = i;                          \
		}                                                   \
		low_;                                               \
	})

#endif

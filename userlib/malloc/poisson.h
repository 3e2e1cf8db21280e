/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Chooses which allocations are samples, so that each byte is equally likely to be sampled.
 *
 * The bytes that a thread allocates are a line on which points lie at random: the distance to the
 * next one has an exponential distribution with the mean `period`. An allocation of n bytes is a
 * sample if a point is in it, which has the probability 1 - exp(-n / period). So a sample has the
 * weight n divided by this probability, and the expectation of a sum of weights is the number of
 * bytes that were allocated, whatever their sizes.
 */
#ifndef PCCE_USERLIB_POISSON_H
#define PCCE_USERLIB_POISSON_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct poisson {
	uint64_t left;	 /* bytes before the next point */
	uint64_t random; /* state of the generator; 0: it has not begun */
};

/* Returns the bytes before the next point. */
uint64_t poisson_next(struct poisson *p, uint64_t period);
/* Returns the weight of a sample of n bytes, n > 0. */
uint64_t poisson_weight(uint64_t n, uint64_t period);

/* Returns whether an allocation of n bytes is a sample. */
static inline bool poisson_take(struct poisson *p, uint64_t n, uint64_t period)
{
	if (__builtin_expect(!p->random, false))
		p->left = poisson_next(p, period);
	if (__builtin_expect(p->left >= n, true)) {
		p->left -= n;
		return false;
	}
	p->left = poisson_next(p, period);
	return true;
}

#pragma GCC visibility pop

#endif

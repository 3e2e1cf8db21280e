// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See poisson.h. The library needs no libm, so logarithm and exponential function are here. Their
 * relative errors are below 1e-10. */
#include <string.h>
#include <sys/auxv.h>
#include "malloc/poisson.h"

#define LN2 0.693147180559945309417

/* Splits x > 0 into m * 2^*exponent, with m from 1 to 2. */
static double split(double x, int *exponent)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	*exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((1ULL << 52) - 1)) | 1023ULL << 52;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static double natural_log(double x)
{
	int exponent;
	double m = split(x, &exponent), s, square, sum = 0;

	if (m > 1.41421356237) {
		m /= 2;
		exponent++;
	}
	/* log(m) = 2 artanh(s) */
	s = (m - 1) / (m + 1);
	square = s * s;
	for (int k = 15; k >= 1; k -= 2)
		sum = sum * square + 1.0 / k;
	return 2 * s * sum + exponent * LN2;
}

/* Returns 1 - exp(-x). */
static double chance_of_point(double x)
{
	int halves = 0;
	double sum = 0;

	if (x > 45)
		return 1;
	while (x > 0.25) {
		x /= 2;
		halves++;
	}
	/* The series of 1 - exp(-x) has no difference of large numbers. */
	for (int k = 12; k >= 1; k--)
		sum = (1 - sum) * x / k;
	/* exp(-2x) = exp(-x)^2 */
	while (halves--)
		sum = sum * (2 - sum);
	return sum;
}

static uint64_t scramble(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/* Two threads never begin with the same number, nor do two processes after exec. */
static uint64_t seed(const struct poisson *p)
{
	static uint64_t threads;
	uint64_t random = 0;
	const void *bytes = (const void *)getauxval(AT_RANDOM);

	if (bytes)
		memcpy(&random, bytes, sizeof(random));
	return scramble(random + (uint64_t)(uintptr_t)p +
			__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED)) |
	       1;
}

uint64_t poisson_next(struct poisson *p, uint64_t period)
{
	double u, left;

	if (!p->random)
		p->random = seed(p);
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	u = (double)((scramble(p->random) >> 11) + 1) * 0x1p-53;
	left = -natural_log(u) * (double)period;
	/* The part below 1 does not matter: an allocation has a whole number of bytes. */
	return left < 0x1p62 ? (uint64_t)left : 1ULL << 62;
}

uint64_t poisson_weight(uint64_t n, uint64_t period)
{
	double weight = (double)n / chance_of_point((double)n / (double)period);

	return weight < 0x1p62 ? (uint64_t)(weight + 0.5) : 1ULL << 62;
}

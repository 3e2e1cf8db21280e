/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Computes digests of sequences from the digests of their parts.  The sequence x1 .. xn has the
 * digest (..(x1 * B + x2) * B + ..) + xn modulo a prime.  The witness therefore adds one frame in
 * one step, and the decoder's "these frames, 50,000 times" needs sixteen steps.
 */
#ifndef ORACLE_DIGEST_H
#define ORACLE_DIGEST_H

#include <stdint.h>

#define DIGEST_PRIME ((1ULL << 61) - 1)
#define DIGEST_BASE 0x0f3a5c96e1b2d847ULL

/* What a part does to the digest of what is outside of it: d -> d * mul + add; and its length. */
struct digest {
	uint64_t mul, add, n;
};

static inline uint64_t digest_mul(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;
	uint64_t r = (uint64_t)(p & DIGEST_PRIME) + (uint64_t)(p >> 61);

	return r >= DIGEST_PRIME ? r - DIGEST_PRIME : r;
}

static inline uint64_t digest_add(uint64_t a, uint64_t b)
{
	uint64_t r = a + b;

	return r >= DIGEST_PRIME ? r - DIGEST_PRIME : r;
}

static inline uint64_t mix64(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185ULL;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44dULL;
	return x ^ x >> 33;
}

static inline uint64_t digest_element(uint64_t a, uint64_t b)
{
	return mix64(mix64(a + 0x9e3779b97f4a7c15ULL) ^ b) % DIGEST_PRIME;
}

static inline uint64_t digest_step(uint64_t d, uint64_t element)
{
	return digest_add(digest_mul(d, DIGEST_BASE), element);
}

static const struct digest digest_empty = {1, 0, 0};

/* outer, then inner. */
static inline struct digest digest_join(struct digest outer, struct digest inner)
{
	return (struct digest){
		digest_mul(outer.mul, inner.mul),
		digest_add(digest_mul(outer.add, inner.mul), inner.add),
		outer.n + inner.n,
	};
}

static inline struct digest digest_one(uint64_t element)
{
	return (struct digest){DIGEST_BASE, element, 1};
}

static inline struct digest digest_repeat(struct digest d, uint64_t times)
{
	struct digest r = digest_empty;

	for (; times; times >>= 1) {
		if (times & 1)
			r = digest_join(r, d);
		d = digest_join(d, d);
	}
	return r;
}

#endif

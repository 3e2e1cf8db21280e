/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "../util/util.h"
#include "shape.h"

static __attribute__((noinline)) unsigned int leaf(unsigned int seed)
{
	return util_work(20 + seed % 50) + 1;
}

static __attribute__((noinline)) unsigned int branch(unsigned int depth, unsigned int seed)
{
	unsigned int r = shape_tree(depth, seed * 5 + 1);

	return r + shape_tree(depth / 2, seed * 3 + 2);
}

unsigned int shape_tree(unsigned int depth, unsigned int seed)
{
	unsigned int r;

	if (depth == 0) {
		r = leaf(seed);
		return r + 1;
	}
	r = seed % 3 ? branch(depth - 1, seed) : shape_tree(depth - 1, seed + 1);
	return r ^ seed;
}

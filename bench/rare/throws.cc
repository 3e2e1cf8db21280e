/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * throws DEPTH COUNT
 *
 * Throws COUNT exceptions, each through DEPTH frames that have an object to destroy.
 */
#include <cstdlib>

static volatile unsigned int work;

struct guard {
	~guard()
	{
		work = work + 1;
	}
};

static __attribute__((noinline)) void throw_at_depth(int depth)
{
	guard g;

	if (!depth)
		throw depth;
	throw_at_depth(depth - 1);
	work = work + 1;
}

int main(int argc, char **argv)
{
	int depth = argc == 3 ? atoi(argv[1]) : 0;

	for (long count = argc == 3 ? atol(argv[2]) : 0; count > 0; count--) {
		try {
			throw_at_depth(depth);
		} catch (int) {
			work = work + 1;
		}
	}
	return 0;
}

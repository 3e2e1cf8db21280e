/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Uses what is new in C++23: generators of the library, nested ones, explicit object parameters in
 * recursive lambdas, static call operators, subscripts with several arguments, assumptions.
 *
 * needs: GCC 14
 * flags: -O2 -std=c++23
 * expect: (^|;)main;.*walk.*;burn( |;|\()
 * no-verify: while the C++ unwinder loads registers, libunwind finds parts of two stacks
 */
#include <expected>
#include <generator>
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum = sum + n;
	return n + 1;
}

struct guard {
	~guard()
	{
		count(1);
	}
};

static std::generator<unsigned int> leaves(unsigned int depth)
{
	guard g;

	if (depth == 0) {
		co_yield count(90);
		co_return;
	}
	co_yield std::ranges::elements_of(leaves(depth - 1));
	if (depth == 3)
		throw depth;
	co_yield std::ranges::elements_of(leaves(depth - 1));
}

static NOINLINE unsigned int walk(unsigned int depth)
{
	unsigned int r = 0;

	try {
		for (unsigned int n : leaves(depth))
			r += n + count(60);
	} catch (unsigned int e) {
		r += count(e);
	}
	return r;
}

static NOINLINE unsigned int fold(unsigned int n)
{
	auto self = [](this auto &&me, unsigned int k) -> unsigned int {
		[[assume(k < 100)]];
		return k ? count(k) + me(k - 1) : 0;
	};

	return self(n);
}

struct table {
	NOINLINE unsigned int operator[](unsigned int x, unsigned int y) const
	{
		return count(x * y);
	}
	NOINLINE static unsigned int operator()(unsigned int x)
	{
		return count(x);
	}
};

static NOINLINE std::expected<unsigned int, int> halve(unsigned int n)
{
	if (n % 2)
		return std::unexpected(1);
	return count(n / 2);
}

int main()
{
	for (unsigned int i = 0; i < ROUNDS(400000, 8); i++) {
		sum = sum + walk(i % 4) + fold(i % 6) + table()[i % 7, 3] + table()(i % 9);
		sum = sum + halve(i % 40).and_then(halve).value_or(count(3));
	}
	printf("%u\n", sum);
	return 0;
}

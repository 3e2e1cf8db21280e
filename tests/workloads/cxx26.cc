/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Uses what is new in C++26: contracts with a handler that throws, expansion statements over
 * members that reflection finds, packs with an index and in structured bindings.
 *
 * needs: GCC 16
 * flags: -O2 -std=c++26 -freflection
 * expect: (^|;)main;.*checked.*;burn( |;|\()
 * no-verify: while the C++ unwinder loads registers, libunwind finds parts of two stacks
 */
#include <contracts>
#include <meta>
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum = sum + n;
	return n + 1;
}

static NOINLINE bool small(unsigned int n)
{
	return count(n) < 30;
}

void handle_contract_violation(const std::contracts::contract_violation &)
{
	throw count(4);
}

static NOINLINE unsigned int checked(unsigned int n) pre(small(n)) post(r : r != 3)
{
	contract_assert(count(5) == 6);
	return count(n + 200);
}

struct point {
	unsigned int x, y, z;
};

static NOINLINE unsigned int members(point p)
{
	static constexpr auto all = std::define_static_array(
		nonstatic_data_members_of(^^point, std::meta::access_context::unchecked()));
	unsigned int r = 0;

	template for (constexpr auto member : all) r += count(p.[:member:]);
	return r;
}

template <typename... Numbers> static NOINLINE unsigned int second(Numbers... numbers)
{
	return count(numbers...[1]);
}

static NOINLINE unsigned int attempt(unsigned int n)
{
	try {
		return checked(n);
	} catch (unsigned int e) {
		return count(e);
	}
}

int main()
{
	for (unsigned int i = 0; i < ROUNDS(900000, 15); i++) {
		sum = sum + attempt(i % 40) + members({i % 3, i % 5, i % 7});
		sum = sum + second(1u, i % 11, 3u);
	}
	printf("%u\n", sum);
	return 0;
}

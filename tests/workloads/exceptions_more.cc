/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Exceptions out of constructors (of members, arrays, statics), through the C library's qsort,
 * through many frames with and without clean-ups, nested, rethrown from another function, passed on
 * by exception_ptr, in threads.
 *
 * sampled: no
 * flags: -O2 -pthread
 */
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum = sum + n;
	return n + 1;
}

struct member {
	unsigned int n;
	explicit member(unsigned int n) : n(n)
	{
		if (count(n) == 4)
			throw std::runtime_error("member");
	}
	~member()
	{
		count(n);
	}
};

struct owner {
	member one, two;
	std::vector<member> more;
	explicit owner(unsigned int n) : one(n), two(n + 1)
	{
		for (unsigned int i = 0; i < 3; i++)
			more.emplace_back(n + i);
	}
};

static NOINLINE unsigned int construct(unsigned int n)
try {
	owner o(n);
	member *array = n == 7 ? new member[2]{member(9), member(3)} : nullptr;

	delete[] array;
	return o.one.n;
} catch (const std::exception &e) {
	return count(static_cast<unsigned int>(e.what()[0]) & 7);
}

static NOINLINE member &late_static(unsigned int n)
{
	static member m(n);

	return m;
}

static NOINLINE unsigned int statics(unsigned int n)
{
	try {
		return late_static(n).n;
	} catch (std::runtime_error &) {
		return count(1);
	}
}

static int compare(const void *a, const void *b)
{
	if (count(static_cast<unsigned int>(*static_cast<const int *>(a))) == 6)
		throw 5;
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static NOINLINE unsigned int through_c()
{
	int values[] = {4, 5, 1};

	try {
		qsort(values, 3, sizeof(*values), compare);
	} catch (int n) {
		return count(static_cast<unsigned int>(n));
	}
	return 0;
}

static NOINLINE unsigned int deep(unsigned int depth, bool clean)
{
	if (depth == 0)
		throw depth;
	if (clean) {
		member m(depth + 10);

		return deep(depth - 1, false) + 1;
	}
	return deep(depth - 1, depth % 3 == 0) + 1;
}

static NOINLINE void rethrow()
{
	count(1);
	throw;
}

static NOINLINE unsigned int nested(unsigned int depth)
{
	try {
		return deep(depth, true);
	} catch (unsigned int) {
		try {
			try {
				deep(depth / 2, false);
			} catch (...) {
				rethrow();
			}
		} catch (unsigned int n) {
			return count(n + 1);
		}
	}
	return 0;
}

static NOINLINE unsigned int noexcept_one(unsigned int n) noexcept
{
	return nested(n);
}

static NOINLINE unsigned int passed_on()
{
	std::exception_ptr p;

	std::thread t([&p] {
		try {
			deep(3, true);
		} catch (...) {
			p = std::current_exception();
		}
	});
	t.join();
	try {
		std::rethrow_exception(p);
	} catch (unsigned int) {
		return count(2);
	}
}

int main()
{
	for (unsigned int i = 0; i < 8; i++)
		sum = sum + construct(i);
	sum = sum + statics(3) + statics(5) + through_c() + noexcept_one(12) + noexcept_one(3) +
	      passed_on();
	printf("%u\n", sum);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A parser that calls itself, directly and through others, and throws out of all depths: what lands
 * is a function that is on the way many times, in calls with different landing pads, regularly
 * nested (so that pushes are compressed) and not. Some calls clean up, some catch what others let
 * pass, one catches and throws again.
 *
 * sampled: no
 * step: --restoring=400
 * flags: -O2
 */
#include <string>
#include "burn.h"

struct error {
	unsigned int at;
};
struct too_deep {
	unsigned int depth;
};

static volatile unsigned int sum;

struct guard {
	unsigned int n;
	explicit guard(unsigned int n) : n(n)
	{
	}
	NOINLINE ~guard()
	{
		sum = sum + n;
		burn(1);
	}
};

class parser
{
	const char *at, *begin;
	unsigned int depth = 0, limit;

	NOINLINE void fail()
	{
		throw error{static_cast<unsigned int>(at - begin)};
	}

	NOINLINE unsigned int array()
	{
		guard g(1);
		unsigned int n = 0;

		while (*at != ']') {
			std::string name(depth + 20, 'a');

			n += value() + static_cast<unsigned int>(name.size());
		}
		at++;
		return n;
	}

	/* Errors further in count as a value. */
	NOINLINE unsigned int lenient()
	{
		try {
			guard g(2);

			return value();
		} catch (const error &e) {
			while (*at && *at != '}')
				at++;
			sum = sum + e.at;
		}
		if (*at != '}')
			fail();
		at++;
		return 3;
	}

	NOINLINE unsigned int again()
	{
		try {
			return value() + value();
		} catch (const error &) {
			burn(2);
			throw;
		} catch (const too_deep &t) {
			guard g(t.depth);

			throw too_deep{t.depth + 1};
		}
	}

      public:
	parser(const char *text, unsigned int limit) : at(text), begin(text), limit(limit)
	{
	}

	NOINLINE unsigned int value()
	{
		guard g(depth);

		if (++depth > limit)
			throw too_deep{depth};
		switch (*at++) {
		case '[': {
			unsigned int n = array();

			depth--;
			return n;
		}
		case '{': {
			guard inner(4);
			unsigned int before = depth, n = lenient();

			depth = before - 1;
			return n;
		}
		case '(':
			return again();
		case '-': {
			guard inner(5);

			return value() + 1;
		}
		case '+':
			return value();
		case '1':
			depth--;
			return 1;
		default:
			at--;
			fail();
			return 0;
		}
	}
};

/* By itself only, and all alike. */
static NOINLINE unsigned int regular(unsigned int n)
{
	guard g(n);

	if (n == 0)
		throw error{7};
	return regular(n - 1) + 1;
}

/* By itself only; each third one catches, and goes on. */
static NOINLINE unsigned int catching(unsigned int n)
{
	if (n == 0)
		throw error{8};
	if (n % 3)
		return catching(n - 1) + 1;
	try {
		guard g(n);

		return catching(n - 1);
	} catch (const error &e) {
		if (n > 6)
			throw error{e.at + n};
		throw;
	}
}

static NOINLINE unsigned int attempt(const char *text, unsigned int limit)
{
	try {
		return parser(text, limit).value();
	} catch (const error &e) {
		return 100 + e.at;
	} catch (const too_deep &t) {
		return 1000 + t.depth;
	}
}

static NOINLINE unsigned int attempt_function(unsigned int (*f)(unsigned int), unsigned int n)
{
	try {
		return f(n);
	} catch (const error &e) {
		return e.at;
	}
}

int main()
{
	for (int i = 0; i < ROUNDS(2000, 1); i++) {
		sum = sum + attempt("[[1[1[1x]]]]", 50) + attempt("[{[1{[1?}]1}]", 50) +
		      attempt("{{{[---?]}}}", 50);
		sum = sum + attempt("(1(1(1(1(1?", 50) + attempt("[[[[[[[[[[1", 7) +
		      attempt("((((-+-+-+-+1", 9);
		sum = sum + attempt("----------------?", 50) + attempt("++++++++++++++++?", 50) +
		      attempt("[-[-{(+[?", 50);
		sum = sum + attempt_function(regular, 12) + attempt_function(catching, 14);
	}
	printf("%u\n", sum);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Uses what is new in C23: functions without named parameters, empty parameter lists that are
 * prototypes, constexpr, auto, typeof, nullptr, attributes in brackets, enumerations with a type.
 *
 * needs: GCC 13
 * flags: -O2 -std=gnu2x
 * expect: (^|;)main;total;add;burn( |;)
 * expect: (^|;)main;handler;burn( |;)
 */
#include <stdarg.h>
#include "burn.h"

enum step : unsigned char { SHORT = 40, LONG = 200 };

constexpr unsigned int parts = 4;

static volatile unsigned int sum;

static NOINLINE unsigned int add(unsigned int n)
{
	auto all = sum + n;

	burn(n);
	sum = all;
	return n;
}

/* The number of arguments is a global: no parameter has a name. */
static unsigned int arguments;

[[gnu::noipa]] static unsigned int total(...)
{
	unsigned int r = 0;
	va_list list;

	va_start(list);
	for (unsigned int i = 0; i < arguments; i++)
		r += add(va_arg(list, unsigned int));
	va_end(list);
	return r;
}

/* Could be a handler of the C++ library, as its type tells. */
[[gnu::noipa]] void handler()
{
	burn(LONG);
	sum += SHORT;
}

static void (*volatile called)() = nullptr;

[[nodiscard]] static NOINLINE bool choose(typeof(sum) n)
{
	static_assert(parts == 4);
	add(n % parts);
	return n & 0b1 ? true : false;
}

int main()
{
	arguments = parts;
	for (unsigned int i = 0; i < ROUNDS(2'000'000, 15); i++) {
		called = choose(i) ? handler : nullptr;
		sum += total(1u, (unsigned int)SHORT, i % 50, 3u);
		if (called != nullptr)
			called();
		handler();
	}
	printf("%u\n", sum);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The C++20 module of module_import.cc. */
module;
#include "burn.h"
export module shapes;

static volatile unsigned int sum;

export NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum = sum + n;
	return n + 1;
}

export struct guard {
	~guard()
	{
		count(1);
	}
};

export inline unsigned int twice(unsigned int n)
{
	guard g;

	return count(n) + count(n + 1);
}

export template <typename T> unsigned int apply(T f, unsigned int n)
{
	return n ? f(n) + apply(f, n - 1) : count(2);
}

export unsigned int total()
{
	return sum;
}

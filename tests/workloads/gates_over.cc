/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Comes between the callers in gates_lib.cc and its functions, by LD_PRELOAD. Each function calls
 * the next one of its name, and the library again.
 */
#include <dlfcn.h>
#include "burn.h"
#include "gates.h"

template <class F> static F *next(const char *name)
{
	return (F *)dlsym(RTLD_NEXT, name);
}

#define NEXT(name)                       \
	static decltype(name) *original; \
	if (!original)                   \
	original = next<decltype(name)>(#name)
#define EXPORT extern "C" NOINLINE

EXPORT unsigned int gate_step(unsigned int n)
{
	NEXT(gate_step);
	return original(n) + 100;
}

EXPORT unsigned int gate_tail(unsigned int n)
{
	NEXT(gate_tail);
	return original(n + 1);
}

EXPORT unsigned int gate_odd(unsigned int n)
{
	NEXT(gate_odd);
	burn(10);
	return n > 2 ? original(n) + gate_step(n) : n;
}

EXPORT unsigned int gate_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	NEXT(gate_many);
	return original(a, b, c, d, e, f, g, h + 1);
}

EXPORT unsigned int gate_value(struct gate_block b, long n, long c, long d, long e, long f, long g)
{
	NEXT(gate_value);
	b.word[2] += 1;
	return original(b, n, c, d, e, f, g + 1);
}

EXPORT unsigned int gate_sum(unsigned int n, ...)
{
	return n + gate_leaf(n);
}

EXPORT struct gate_pair gate_pairs(long a, long b, long c, long d, long e, long f, double g,
				   double h, double i, double j, double k, double l, double m,
				   double n)
{
	NEXT(gate_pairs);
	struct gate_pair p = original(a, b, c, d, e, f, g, h, i, j, k, l, m, n);

	p.d += 0.5;
	return p;
}

EXPORT long double gate_long(long double x)
{
	NEXT(gate_long);
	return original(x) + 1;
}

EXPORT struct gate_block gate_blocks(long n)
{
	NEXT(gate_blocks);
	struct gate_block b = original(n);

	b.word[5] += 3;
	return b;
}

/* Its own exceptions, and those of the function that it replaces, leave it. */
EXPORT void gate_throw(unsigned int n)
{
	NEXT(gate_throw);
	if (n % 4 == 2)
		throw n;
	original(n);
}

EXPORT void gate_jump(jmp_buf *to, int n)
{
	NEXT(gate_jump);
	original(to, n + 1);
	__builtin_unreachable();
}

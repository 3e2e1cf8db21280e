/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A library whose exported functions call each other, so that another module may come in between:
 * gates_over.cc does. Calls of all shapes: with and without a tail call, recursive, with arguments
 * and results in all registers and on the stack, left by exceptions and jumps.
 */
#include <cstdarg>
#include "burn.h"
#include "gates.h"

#define EXPORT extern "C" NOINLINE

EXPORT unsigned int gate_leaf(unsigned int n)
{
	burnt += n;
	return n * 3 + 1;
}

EXPORT unsigned int gate_step(unsigned int n)
{
	unsigned int r = gate_leaf(n);

	burn(20);
	return r + gate_leaf(n + 1);
}

/* Another name of one function has another GOT slot. */
extern "C" unsigned int gate_alias(unsigned int n) __attribute__((alias("gate_step")));

EXPORT unsigned int gate_tail(unsigned int n)
{
	return n % 3 ? gate_step(n + 2) : gate_leaf(n);
}

EXPORT unsigned int gate_even(unsigned int n)
{
	unsigned int r = n ? gate_odd(n - 1) : gate_tail(n);

	return r + 1;
}

EXPORT unsigned int gate_odd(unsigned int n)
{
	return n ? gate_even(n - 1) * 5 : gate_step(n);
}

EXPORT unsigned int gate_depth(unsigned int n)
{
	return n ? gate_depth(n - 1) * 7 + gate_tail(n) : gate_leaf(2);
}

EXPORT unsigned int gate_call(gate_callback *callback, unsigned int n)
{
	return callback(n) + 1;
}

EXPORT unsigned int gate_call_tail(gate_callback *callback, unsigned int n)
{
	return callback(n + 1);
}

EXPORT unsigned int gate_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return gate_leaf(a + b + c + d + e + f) + g * h;
}

EXPORT unsigned int gate_many_tail(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return gate_many(b, c, d, e, f, a, h, g + 1);
}

/* An odd number of words on the stack, the function's own: it changes them. An exception goes
 * through the frame in which they are. */
EXPORT unsigned int gate_value(struct gate_block b, long n, long, long, long, long, long g)
{
	volatile struct gate_block *changed = &b;

	changed->word[n % 6] += gate_leaf(n) + g;
	if (n % 3 == 1)
		throw(unsigned int) changed->word[n % 6];
	return b.word[0] + b.word[5] * 3;
}

EXPORT unsigned int gate_sum(unsigned int n, ...)
{
	unsigned int r = 0;
	va_list args;

	va_start(args, n);
	for (unsigned int i = 0; i < n; i++)
		r += gate_leaf(va_arg(args, unsigned int));
	va_end(args);
	return r;
}

EXPORT struct gate_pair gate_pairs(long a, long b, long c, long d, long e, long f, double g,
				   double h, double i, double j, double k, double l, double m,
				   double n)
{
	struct gate_pair p = {a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f,
			      g + 2 * h + 3 * i + 4 * j + 5 * k + 6 * l + 7 * m + 8 * n};

	p.i += gate_leaf(a);
	return p;
}

EXPORT long double gate_long(long double x)
{
	burn(10);
	return x * 2 + gate_leaf(1);
}

EXPORT struct gate_block gate_blocks(long n)
{
	struct gate_block b;

	for (int i = 0; i < 6; i++)
		b.word[i] = gate_leaf(n + i);
	return b;
}

EXPORT void gate_throw(unsigned int n)
{
	burn(10);
	if (n % 2)
		throw n;
}

struct counted {
	unsigned int n;
	explicit counted(unsigned int m) : n(m)
	{
	}
	~counted()
	{
		burnt += gate_leaf(n);
	}
};

EXPORT unsigned int gate_catch(unsigned int n)
{
	unsigned int r = 0;

	try {
		counted c(n);

		gate_throw(n);
		r = gate_tail(n);
	} catch (unsigned int &thrown) {
		r = thrown + gate_step(n);
	}
	return r;
}

EXPORT unsigned int gate_catch_value(struct gate_block b, long n)
{
	unsigned int r = b.word[0];

	try {
		r += gate_value(b, n, 2, 3, 4, 5, 6);
	} catch (unsigned int thrown) {
		r += thrown;
	}
	return r + b.word[n % 6];
}

EXPORT void gate_jump(jmp_buf *to, int n)
{
	burn(5);
	longjmp(*to, n);
}

EXPORT unsigned int gate_land(unsigned int n)
{
	jmp_buf here;
	int r = setjmp(here);

	if (!r)
		gate_jump(&here, n + 1);
	return r + gate_leaf(n);
}

static unsigned int kind_a(unsigned int n)
{
	return gate_leaf(n) + 4;
}

typedef unsigned int kind_function(unsigned int);
extern "C" kind_function *resolve_kind(void)
{
	return kind_a;
}
extern "C" unsigned int gate_kind(unsigned int n) __attribute__((ifunc("resolve_kind")));

extern "C" NOINLINE __attribute__((visibility("protected"))) unsigned int
gate_protected(unsigned int n)
{
	return gate_leaf(n) + 9;
}

EXPORT gate_callback *gate_address(unsigned int n)
{
	static gate_callback *const all[] = {gate_leaf, gate_step, gate_tail, gate_even};

	return all[n % 4];
}

/* A function that is compiled into each library that uses it. */
template <class T> NOINLINE T twice(T n)
{
	return gate_leaf(n) * 2;
}

EXPORT unsigned int gate_all(unsigned int n, gate_callback *callback)
{
	struct gate_pair p = gate_pairs(n, 2, 3, 4, 5, 6, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5);
	struct gate_block b = gate_blocks(n);
	unsigned int r = gate_step(n) + gate_alias(n) + gate_tail(n) + gate_even(n % 5);

	r = r * 31 + gate_depth(n % 4) + gate_call(callback, n) + gate_call_tail(callback, n);
	r = r * 31 + gate_many(1, 2, 3, 4, 5, 6, n, 8) + gate_sum(3, n, 4u, 5u);
	r = r * 31 + gate_many_tail(1, 2, 3, 4, 5, 6, n, 8) + gate_catch_value(b, n);
	r = r * 31 + (unsigned int)p.i + (unsigned int)p.d + (unsigned int)gate_long(n);
	r = r * 31 + b.word[0] + b.word[5] + gate_catch(n) + gate_land(n) + gate_kind(n);
	r = r * 31 + gate_protected(n) + twice<unsigned int>(n) + twice<long>(n);
	return r * 31 + gate_call(gate_address(n), n % 5) + (gate_address(0) == gate_leaf);
}

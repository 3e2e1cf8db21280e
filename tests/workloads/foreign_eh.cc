/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Exceptions that cross a library without slots, are caught there, and come from there; that leave
 * few and many calls, alike and not, behind; that land there while a handler runs, or another
 * exception is on its way.
 *
 * sampled: no
 */
#include <csignal>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include "burn.h"

extern "C" unsigned int foreign_pass(unsigned int (*f)(unsigned int), void (*clean)(unsigned int),
				     unsigned int n);
extern "C" unsigned int foreign_catch(unsigned int (*f)(unsigned int), unsigned int n);
extern "C" void foreign_throw(unsigned int n);
extern "C" unsigned int foreign_again(unsigned int (*f)(unsigned int), unsigned int n);

static volatile unsigned int sum;

static NOINLINE void count(unsigned int n)
{
	burn(n);
	sum = sum + n;
}

struct guard {
	unsigned int n;
	~guard()
	{
		count(n);
	}
};

static NOINLINE unsigned int throws(unsigned int n)
{
	guard g{n};

	if (n & 1)
		throw std::runtime_error("ours");
	count(n);
	return n;
}

static NOINLINE unsigned int across(unsigned int n)
{
	guard g{2};

	try {
		return foreign_pass(throws, count, n);
	} catch (const std::exception &e) {
		count(1);
		return 4;
	}
}

static NOINLINE unsigned int from(unsigned int n)
{
	try {
		foreign_throw(n);
		count(5);
	} catch (const std::out_of_range &) {
		count(6);
	}
	return n;
}

/* Calls n deep, in ways that repeat or do not. */
static unsigned int dig(unsigned int n);
static unsigned int dig_more(unsigned int n);
static unsigned int (*volatile digs[])(unsigned int) = {dig, dig_more};

static NOINLINE unsigned int dig(unsigned int n)
{
	if (n < 2)
		return throws(n);
	return digs[n * n / 7 & 1](n - 1) + 1;
}

static NOINLINE unsigned int dig_more(unsigned int n)
{
	if (n < 2)
		return throws(n);
	return digs[n / 5 & 1](n - 1) + 2;
}

static NOINLINE unsigned int deep(unsigned int n)
{
	/* Throws to the library, and once more from what the library tries then. */
	try {
		return foreign_catch(digs[0], n);
	} catch (const std::runtime_error &) {
		count(8);
		return n;
	}
}

static NOINLINE unsigned int deeper(unsigned int depth, unsigned int n)
{
	if (depth)
		return digs[0] ? deeper(depth - 1, n) + 1 : 0;
	return deep(n);
}

/* Throws while the library cleans up. */
static NOINLINE void nested(unsigned int n)
{
	count(foreign_catch(throws, n));
}

static NOINLINE unsigned int inside(unsigned int n)
{
	try {
		return foreign_pass(throws, nested, n);
	} catch (const std::exception &) {
		return foreign_again(throws, n);
	}
}

static void on_signal(int)
{
	nested(1);
}

static NOINLINE unsigned int raises(unsigned int n)
{
	raise(SIGUSR1);
	return throws(n);
}

/* The C++ library catches what a stream's buffer throws. */
struct buffer : std::streambuf {
	int overflow(int c) override
	{
		count(7);
		if (c == 'x')
			throw std::runtime_error("full");
		return c;
	}
};

static NOINLINE void stream(unsigned int n)
{
	buffer b;
	std::ostream out(&b);

	out << "yyxy" + n % 3;
	count(out.bad() ? 8 : 9);
}

int main()
{
	signal(SIGUSR1, on_signal);
	for (unsigned int i = 0; i < ROUNDS(100, 8); i++)
		sum = sum + across(i) + foreign_catch(throws, i) * 2 + from(i);
	for (unsigned int i = 0; i < ROUNDS(100, 2); i++) {
		sum = sum + inside(i) + foreign_catch(raises, i);
		stream(i);
	}
	for (unsigned int i = 3; i < ROUNDS(300, 80); i += 67)
		sum = sum + deeper(i % 4, i);
	printf("%u\n", sum);
	return 0;
}

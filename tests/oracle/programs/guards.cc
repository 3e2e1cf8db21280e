// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls through pointers in all surroundings where a guard (docs/slots.md) can be: callees that
 * call nothing, call others, tail-call others directly or through a pointer, recurse, throw and
 * jump.  A handler of SIGUSR1 calls through a pointer, too.
 *
 *   guards N [other]     N rounds; with a second argument, other functions are called
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#define APART __attribute__((noipa))
/* Without a recording, only calls in loops have guards, by their types.  -DLOOPS puts calls into
 * loops of one round, which the compiler does not know. */
#ifdef LOOPS
static volatile int once = 1;
#define LOOP for (int loops = once; loops > 0; loops--)
#else
#define LOOP
#endif

static jmp_buf env;
static volatile int signals;

APART static void spend(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

APART int bare(int x)
{
	for (volatile int i = 0; i < 20; i++)
		;
	return x + 1;
}
APART int bare2(int x)
{
	for (volatile int i = 0; i < 20; i++)
		;
	return x + 2;
}
APART int low(int x)
{
	spend(20);
	return bare(x) * 2;
}
APART int tailing(int x)
{
	spend(20);
	return low(x + 1);
}
int (*volatile next)(int) = low;
APART int tailing_out(int x)
{
	spend(20);
	return next(x);
}
int (*recurse)(int, int);
APART int recursing(int x, int depth)
{
	spend(5);
	return depth ? recurse(x, depth - 1) + bare(x) : low(x);
}

struct base {
	virtual int run(int x) = 0;
	virtual ~base()
	{
	}
};
struct thrower : base {
	int run(int x) override;
};
struct jumper : base {
	int run(int x) override;
};
struct cleaner {
	int *n;
	~cleaner()
	{
		++*n;
	}
};

APART int throws(int x)
{
	spend(10);
	if (x % 7 == 3)
		throw std::runtime_error("thrown");
	return x;
}
APART int jumps(int x)
{
	spend(10);
	if (x % 11 == 5)
		longjmp(env, 1);
	return x;
}
int thrower::run(int x)
{
	return throws(x) + 1;
}
int jumper::run(int x)
{
	return throws(x + 1) + jumps(x) + 2;
}

APART int passing(base *p, int x, int *n)
{
	cleaner c{n};

	int sum = 1;

	LOOP sum += p->run(x);
	return sum;
}
APART int catching(base *p, int x, int *n)
{
	try {
		return p->run(x);
	} catch (std::exception &) {
		return passing(p, x + 1, n);
	}
}
APART int plain(base *p, int x)
{
	volatile int sum = x;

	LOOP sum += p->run(x);
	return sum;
}
APART int never_throws(base *p, int x) noexcept
{
	try {
		return p->run(x);
	} catch (...) {
		return 1;
	}
}
APART int landing(base *p, int x)
{
	return setjmp(env) ? 0 : plain(p, x);
}

struct operations {
	int (*bare)(int);
	int (*low)(int);
	int (*tail)(int);
	int (*out)(int);
};
operations all = {bare, low, tailing, tailing_out};
int (*global)(int) = low;

APART int call_all(operations *o, int (*pointer)(int), int x)
{
	int sum = 0;

	LOOP sum += o->bare(x);
	LOOP sum ^= o->low(x);
	LOOP sum += o->tail(x);
	LOOP sum += o->out(x);
	LOOP sum -= pointer(x);
	LOOP sum += global(x);
	/* Arguments on the stack. */
	return sum + printf("%s", x < 0 ? "negative\n" : "");
}

static void handler(int)
{
	LOOP signals = signals + (all.bare(1) + all.low(2) > 0);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000, cleaned = 0;
	bool other = argc > 2;
	thrower t;
	jumper j;
	long sum = 0;

	signal(SIGUSR1, handler);
	recurse = recursing;
	if (other) {
		all = {bare2, tailing, tailing_out, bare};
		global = bare2;
		next = tailing;
	}
	for (int i = 0; i < n; i++) {
		base *p = i % 16 == 0 || other ? (base *)&j : &t;

		sum += call_all(&all, other ? bare2 : tailing, i) + recurse(i, i % 20);
		try {
			sum += landing(p, i);
			if (p == &t) {
				sum += catching(p, i, &cleaned);
				sum += passing(p, i, &cleaned);
				sum += never_throws(p, i);
			}
		} catch (std::exception &) {
			sum += 7;
		}
	}
	printf("%ld %d\n", sum, cleaned);
	return 0;
}

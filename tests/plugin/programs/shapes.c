/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Makes all kinds of calls that C has, and prints a checksum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#define noinline __attribute__((noinline, noclone))

typedef int (*fn)(int);
struct ops {
	fn first, second;
};

static unsigned long sum;
static jmp_buf env;

noinline static int add1(int x)
{
	sum += x;
	return x + 1;
}

noinline static int twice(int x)
{
	return add1(x) * 2 + add1(x + 1);
}

static fn table[] = {add1, twice};
static struct ops ops = {twice, add1};
static fn volatile pointer = twice;

noinline int through_pointers(struct ops *o, int i)
{
	return o->first(i) + o->second(i) + table[i & 1](i) + pointer(i);
}

noinline int tail_direct(int x)
{
	return twice(x + 3);
}

noinline int tail_pointer(struct ops *o, int x)
{
	return o->second(x);
}

noinline size_t tail_leaf(const char *s)
{
	return strlen(s);
}

noinline int even(unsigned int n);
noinline int odd(unsigned int n)
{
	return n ? even(n - 1) : 0;
}
noinline int even(unsigned int n)
{
	return n ? odd(n - 1) : 1;
}

noinline int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

noinline int varied(int n, ...)
{
	va_list args;
	int total = 0;

	va_start(args, n);
	while (n--)
		total += n & 1 ? (int)va_arg(args, double) : va_arg(args, int);
	va_end(args);
	return total;
}

noinline void fail(const char *why)
{
	if (why) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
}

noinline int many(long a, long b, long c, long d, long e, long f, long g, long h, double x,
		  double y)
{
	return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + (int)(x * y);
}

struct big {
	long v[12];
};
noinline struct big copy_big(struct big b)
{
	b.v[3] += fib(5);
	return b;
}

noinline int use_alloca(int n)
{
	char *p = __builtin_alloca(n + 1);

	memset(p, 'x', n);
	p[n] = 0;
	return tail_leaf(p);
}

noinline int jumps(int n)
{
	static void *const labels[] = {&&inc, &&dbl, &&call, &&end};
	int x = 1, pc = n & 1;

	goto *labels[pc];
inc:
	x++;
	goto *labels[++pc];
dbl:
	x *= 2;
	goto *labels[++pc];
call:
	x = twice(x);
	goto *labels[++pc];
end:
	return x;
}

noinline int cases(int n)
{
	switch (n) {
	case 0:
		return add1(10);
	case 1:
		return twice(11);
	case 2:
		fail(NULL);
		return 5;
	case 3:
		return fib(7);
	case 4:
		return varied(2, 1, 2.0);
	case 5:
		return even(11);
	default:
		return -1;
	}
}

noinline int nested(int n)
{
	int total = 0;
	auto int inner(int x);
	int deeper(int x)
	{
		total += x;
		return x > 3 ? inner(x - 1) : x;
	}
	int inner(int x)
	{
		total += n;
		return deeper(x - 1) + 1;
	}
	fn escape = inner;

	table[1] = escape;
	total += through_pointers(&ops, 7) + inner(n);
	table[1] = twice;
	return total;
}

noinline void leap(int v)
{
	if (v)
		longjmp(env, v);
}

noinline int jump_back(int n)
{
	volatile int count = 0;
	int v = setjmp(env);

	count++;
	if (v < n)
		leap(v + 1);
	return count;
}

#ifdef __OPTIMIZE__
static inline __attribute__((always_inline)) int inlined(int x)
{
	return add1(x) + add1(x * 2);
}
#else
static int inlined(int x)
{
	return add1(x) + add1(x * 2);
}
#endif

noinline int inlines(int x)
{
	return inlined(x) - inlined(x + 1);
}

noinline int loops(int n)
{
	int total = 0;

	for (int i = 0; i < 8; i++)
		total += add1(i);
	for (int i = 0; i < n; i++) {
		if (__builtin_expect(i == 1000, 0)) {
			fail("impossible");
			total += twice(total);
		}
		total += i & 2 ? add1(i) : twice(i);
	}
	return total;
}

__attribute__((cold, __noinline__)) int cold(int x)
{
	return add1(x) + 2;
}

noinline double floats(double x)
{
	return pow(x, 2.5) + sin(x) + (double)(__int128)((__int128)x * 12345678901234LL / 3);
}

/* A static function whose address is taken only here. */
static int compare(const void *a, const void *b)
{
	return add1(*(const int *)a) - add1(*(const int *)b);
}

__attribute__((no_instrument_function, __noinline__)) int left_alone(int x)
{
	return add1(x);
}

static void __attribute__((constructor)) before_main(void)
{
	sum += add1(100);
}

int main(int argc, char **argv)
{
	int numbers[] = {5, 3, 9, 1, 7};
	struct big b = {{1, 2, 3}};
	long total = argc;

	(void)argv;
	total += through_pointers(&ops, 3) + tail_direct(4) + tail_pointer(&ops, 5) +
		 tail_leaf("hello");
	total += odd(1001) + even(5000) + fib(15) + varied(4, 4.5, 3, 2.5, 1);
	total += many(1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5) + copy_big(b).v[3] + use_alloca(100);
	total += jumps(0) + jumps(1);
	for (int i = 0; i < 7; i++)
		total += cases(i);
	total += nested(6) + jump_back(5) + inlines(4) + loops(20) + cold(3) + (long)floats(3.0) +
		 left_alone(1);
	qsort(numbers, 5, sizeof(numbers[0]), compare);
	printf("%ld %lu %d\n", total, sum, numbers[4]);
	return 0;
}

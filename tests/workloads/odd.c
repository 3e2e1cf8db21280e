/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shapes of C: computed goto, nested functions (with a non-local goto out of one), noreturn calls,
 * alloca and variable-length arrays, statement expressions, calls with arguments on the stack,
 * structures by value.
 *
 * sampled: no
 */
#include <alloca.h>
#include <setjmp.h>
#include <string.h>
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum += n;
	return n + 1;
}

static NOINLINE unsigned int threaded(const unsigned char *code)
{
	static const void *const labels[] = {&&one, &&two, &&end};
	unsigned int r = 0;

	goto *labels[*code++];
one:
	r += count(1);
	goto *labels[*code++];
two:
	r += count(2) * count(r % 3);
	goto *labels[*code++];
end:
	return r;
}

static jmp_buf out;

__attribute__((noreturn)) static NOINLINE void never(unsigned int n)
{
	count(n);
	longjmp(out, 1);
}

static NOINLINE unsigned int noreturn(unsigned int n)
{
	if (setjmp(out))
		return count(n);
	never(n);
}

static NOINLINE unsigned int apply(unsigned int (*f)(unsigned int), unsigned int n)
{
	unsigned int r = n ? apply(f, n - 1) : 0;

	return f(n) + r;
}

static NOINLINE unsigned int nesting(unsigned int n)
{
	__label__ away;
	unsigned int local = 0;

	unsigned int inner(unsigned int k)
	{
		local += count(k);
		return local;
	}
	unsigned int escape(unsigned int k)
	{
		count(k);
		if (k > 1)
			goto away;
		return k;
	}

	count(apply(inner, n));
	count(apply(escape, n));
	return 1;
away:
	return count(local) + 2;
}

static NOINLINE unsigned int arrays(unsigned int n)
{
	char variable[n * 16 + 1], *more = alloca(n * 8 + 8);

	memset(variable, 1, sizeof(variable));
	memset(more, 2, n * 8 + 8);
	count((unsigned int)(variable[n] + more[n]));
	return n ? arrays(n - 1) + count(n) : 0;
}

struct large {
	unsigned int v[12];
};

static NOINLINE struct large by_value(struct large a, int b, int c, int d, int e, int f, int g,
				      int h)
{
	a.v[0] += count((unsigned int)(b + c + d + e + f + g + h));
	return a;
}

int main(void)
{
	static const unsigned char code[] = {0, 1, 0, 1, 2};
	struct large l = {{1}};

	sum += threaded(code) + noreturn(2) + nesting(3) + nesting(1) + arrays(4);
	l = by_value(by_value(l, 1, 2, 3, 4, 5, 6, 7), 1, 1, 1, 1, 1, 1, 1);
	sum += ({
		unsigned int r = count(l.v[0]);
		r + 1;
	});
	printf("%u\n", sum);
	return 0;
}

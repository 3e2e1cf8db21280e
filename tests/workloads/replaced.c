/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines malloc, which strdup() calls, although pcce takes strdup() for a function that cannot
 * call back.  This malloc makes calls of every kind, recurses through many segments of the encoding
 * stack, is interrupted, and is left by longjmp.
 *
 * step: --signal=USR1,499
 * expect: ;copy;strdup;malloc;take;burn( |;)
 * expect: ;copy;strdup;malloc;deeper;.*deeper;burn( |;)
 * expect: ;copy;strdup;malloc;by_pointer;burn( |;)
 * expect: ;down;.*down;copy;strdup;malloc;
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include "burn.h"

static _Alignas(16) char pool[1 << 16];
static size_t used;
static unsigned int sum, handled;
static jmp_buf back;
static volatile int leave_by_jump;

static NOINLINE int by_pointer(int x)
{
	burn(100);
	return x + 1;
}

static int (*volatile pointer)(int) = by_pointer;

static NOINLINE unsigned int deeper(unsigned int n)
{
	unsigned int result = n ? deeper(n - 1) + n % 3 : (unsigned int)pointer(1);

	burn(20);
	return result;
}

static NOINLINE char *take(size_t size)
{
	char *p;

	burn(100);
	if (used + size > sizeof(pool))
		used = 0;
	p = pool + used;
	used += (size + 15) & ~(size_t)15;
	memset(p, 1, size);
	return p;
}

void *malloc(size_t size)
{
	void *p = take(size);

	sum += deeper(size % 50);
	sum += pointer(sum & 7);
	burn(100);
	if (leave_by_jump)
		longjmp(back, 1);
	return p;
}

void free(void *p)
{
	sum += p != NULL;
	burn(30);
}

static NOINLINE unsigned int copy(const char *text)
{
	char *p = strdup(text);
	unsigned int n = p ? p[0] : 0;

	burn(50);
	free(p);
	return n;
}

/* So deep that malloc's entries are at all places of a segment. */
static NOINLINE unsigned int down(const char *text, unsigned int n)
{
	unsigned int result = copy(text + n % 8);

	if (n)
		result += down(text, n - 1) + n % 2;
	burn(10);
	return result;
}

static NOINLINE unsigned int jumped(const char *text)
{
	unsigned int n = 1;

	leave_by_jump = 1;
	if (!setjmp(back))
		n += copy(text);
	leave_by_jump = 0;
	burn(20);
	return n + copy(text);
}

static void on_signal(int sig)
{
	int leave = leave_by_jump;

	leave_by_jump = 0;
	handled += (unsigned int)sig;
	free(strdup("handled"));
	leave_by_jump = leave;
}

int main(void)
{
	static const char text[] =
		"a text of some length that is copied, and copied again, as long as it takes";

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < ROUNDS(12000, 1); i++) {
		sum += down(text, 36);
		sum += jumped(text);
	}
	burn(100);
	printf("%u\n", sum);
	return 0;
}

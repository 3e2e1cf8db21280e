/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls through pointers of an executable whose types decide whether they are pushes
 * (docs/slots.md): all kinds of operands; members that call nothing, call others, tail-call others,
 * call back through a pointer of their own type, and of another one; functions of other types,
 * uninstrumented ones, and one of the C library.  A handler of SIGUSR1 calls through a pointer,
 * too.
 *
 *   types N      N rounds
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noipa))
/* Only calls in loops have types.  The compiler does not know that there is one round. */
volatile int once = 1;
#define LOOP for (int loops = once; loops > 0; loops--)

struct node {
	int (*visit)(struct node *n, int depth);
	struct node *next;
	int value;
};

APART static void spend(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

APART int one(int x)
{
	spend(3);
	return x + 1;
}
APART int two(int x)
{
	return x + 2;
}
APART int tailing(int x)
{
	spend(2);
	return one(x + 1);
}
int (*volatile again)(int) = two;
APART int nested(int x)
{
	int sum = one(x);

	LOOP sum += again(x);
	return sum;
}
APART int tailing_out(int x)
{
	spend(2);
	return again(x);
}
/* Of another type. */
APART int of_two(long x, int y)
{
	spend(2);
	return (int)x + y;
}
APART int cast(char *p)
{
	return one((int)(long)p & 7);
}
__attribute__((no_instrument_function)) APART int bare(int x)
{
	return x ^ 1;
}

APART int leaf_visit(struct node *n, int depth)
{
	spend(1);
	return n->value + depth;
}
APART int deep_visit(struct node *n, int depth)
{
	int sum = two(n->value);

	if (depth)
		LOOP sum += n->next->visit(n->next, depth - 1) + one(depth);
	return sum;
}

typedef struct {
	int (*table[8])(int);
	int (*far)(int);
	char room[4096];
	int (*farther)(int);
} operations;

int (*global)(int) = one;
static operations all;

APART int through_register(int (*f)(int), int x)
{
	int sum = 1;

	LOOP sum += f(x);
	return sum;
}
APART int through_memory(operations *o, int x, int k)
{
	int sum = 0;

	for (int i = once + 1; i >= 0; i--) {
		sum += o->table[(k + i) & 7](x);
		sum += o->far(sum);
		sum -= o->farther(x);
		sum ^= global(x);
	}
	return sum;
}
APART int through_stack(int x, int k)
{
	int (*volatile local[2])(int) = {one, again};

	LOOP x += local[k & 1](x);
	return x + printf("%s", x < 0 ? "negative\n" : "");
}
APART int others(int x)
{
	int (*volatile odd[])(int) = {(int (*)(int))(void *)of_two, (int (*)(int))(void *)cast,
				      bare, abs, tailing_out};
	int sum = 0;

	for (int i = once + 3; i >= 0; i--)
		sum += odd[i](x & 0xff) & 1;
	return sum;
}
APART double real(double (*f)(double), double x)
{
	double sum = 1;

	LOOP sum += f(x);
	return sum;
}
APART double half(double x)
{
	return one((int)x) / 2.0;
}

static int compare(const void *a, const void *b)
{
	return one(*(const int *)a) - one(*(const int *)b);
}

static volatile int signals;

static void handler(int sig)
{
	(void)sig;
	LOOP signals += global(1) + all.table[signals & 7](2) > 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, sum = 0, values[8];
	struct node nodes[4];

	for (int i = 0; i < 8; i++)
		all.table[i] = i & 4 ? tailing : i & 2 ? nested : i & 1 ? two : one;
	all.far = tailing;
	all.farther = nested;
	for (int i = 0; i < 4; i++)
		nodes[i] = (struct node){i & 1 ? leaf_visit : deep_visit, &nodes[(i + 2) & 3], i};
	signal(SIGUSR1, handler);
	for (int i = 0; i < n; i++) {
		again = i & 1 ? two : tailing;
		global = i & 2 ? one : nested;
		sum += through_register(i & 4 ? one : tailing, i) + through_memory(&all, i, i);
		sum += through_stack(i, i) + others(i) + (int)real(half, i);
		LOOP sum += nodes[i & 3].visit(&nodes[i & 3], i & 7);
		for (int k = 0; k < 8; k++)
			values[k] = (k * 5 + i) & 7;
		qsort(values, 8, sizeof(*values), compare);
		sum += values[3];
	}
	printf("%d\n", sum);
	return 0;
}

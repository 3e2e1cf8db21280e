/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tail calls through pointers of an executable whose types decide whether callers push
 * (docs/slots.md): all kinds of operands; members that call nothing, call others, tail-call others,
 * and tail-call through a pointer themselves; functions of other types, uninstrumented ones, and
 * one of the C library; functions that are called by value, by a push, through a pointer, by the C
 * library and by a handler of SIGUSR1.
 *
 *   tails N        N rounds
 *   tails N same   the pointers are mostly the same, as in the recording
 *
 * With optimisation, rows of tail calls must not make the stack grow: status 1.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noipa))
#define BARE __attribute__((no_instrument_function)) APART

APART static void spend(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

/* ---- members ------------------------------------------------------------------------ */

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
APART int calling(int x)
{
	return one(x) + two(x);
}
/* Of another type. */
APART int of_long(long x)
{
	spend(2);
	return (int)x + 3;
}
BARE int bare(int x)
{
	return x ^ 1;
}

/* ---- tail calls --------------------------------------------------------------------- */

typedef int (*function)(int);
typedef struct {
	function table[8];
	char room[4096];
	function far;
} operations;

static operations all = {{one, two, one, two, one, two, one, two}, "", two};
function volatile global = one;
static function initial = two; /* is expected without a recording */

APART int by_register(int x, function f)
{
	spend(1);
	return f(x);
}
APART int by_memory(int x, operations *o)
{
	spend(1);
	return o->far(x);
}
APART int by_table(int x, int k)
{
	return all.table[k & 7](x);
}
APART int by_global(int x)
{
	return global(x);
}
APART int by_initial(int x)
{
	return initial(x);
}
APART int by_choice(int x, int k)
{
	if (k & 1)
		return by_global(x);
	if (k & 2)
		return two(x);
	if (k & 4)
		return all.far(x);
	return all.table[x & 7](x + 1);
}
/* It also tail-calls out of the program, so its callers push. */
APART int leaving(int x)
{
	return x & 1 ? global(x) : rand_r((unsigned int *)&(unsigned int){1}) & 1;
}
/* More arguments than registers: a jump as ever. */
APART int on_stack(int a, int b, int c, int d, int e, int f, int g,
		   int (*many)(int, int, int, int, int, int, int))
{
	return many(a + 1, b, c, d, e, f, g);
}
APART int sum_of(int a, int b, int c, int d, int e, int f, int g)
{
	return one(a) + b + c + d + e + f + g;
}

APART int recursive(int x, int depth)
{
	int sum = by_global(x & 0xff);

	if (depth)
		sum += recursive(sum & 7, depth - 1);
	return (sum + by_table(x, depth)) & 0xfffff;
}

/* A machine whose states are functions that tail-call each other. Only add_state is a member. */
struct machine {
	int (*const *code)(struct machine *m, int x);
	int at, steps;
	char *deepest;
};
typedef int (*state)(struct machine *m, int x);

APART void look(struct machine *m)
{
	char here, *volatile at = &here;

	if (at < m->deepest)
		m->deepest = at;
}
APART int next_state(struct machine *m, int x)
{
	look(m);
	if (!m->steps--)
		return x;
	m->at = (m->at + 1) & 3;
	return ((state)m->code[m->at])(m, x);
}
APART int add_state(struct machine *m, int x)
{
	return one(x) + m->at;
}
APART int call_state(struct machine *m, int x)
{
	x += one(x);
	if (!m->steps--)
		return x;
	m->at = (m->at + 1) & 3;
	return ((state)m->code[m->at])(m, x & 0xff);
}
/* Of another type, which machines call all the same. */
APART int odd_state(struct machine *m, long x)
{
	return next_state(m, (int)x + 2);
}
BARE int bare_state(struct machine *m, int x)
{
	return next_state(m, x ^ 3);
}

static int run(int k, int steps)
{
	static const state codes[5][4] = {
		{call_state, add_state, call_state, add_state},
		{(state)(void *)odd_state, call_state, (state)(void *)odd_state, call_state},
		{bare_state, (state)(void *)odd_state, bare_state, call_state},
		{(state)(void *)odd_state, bare_state, (state)(void *)odd_state, add_state},
		{(state)(void *)odd_state, (state)(void *)odd_state, (state)(void *)odd_state,
		 (state)(void *)odd_state},
	};
	char top;
	struct machine m = {(int (*const *)(struct machine *, int))codes[k < 0 ? 4 : k & 3], 0,
			    steps, &top};
	int result = next_state(&m, k);

#ifdef __OPTIMIZE__
	if (&top - m.deepest > 1024) {
		fprintf(stderr, "the stack has grown by %ld bytes\n", (long)(&top - m.deepest));
		exit(1);
	}
#endif
	return result;
}

static int compare(const void *a, const void *b)
{
	return by_global(*(const int *)a) - by_global(*(const int *)b);
}

static volatile int signals;

static void handler(int sig)
{
	(void)sig;
	signals += by_choice(1, signals) > 0;
}

int main(int argc, char **argv)
{
	static const function all_kinds[8] = {one,	 two, tailing, calling,
					      by_global, abs, bare,    (function)(void *)of_long};
	static const function same[8] = {calling, calling, calling, calling,
					 calling, calling, calling, calling};
	const function *kinds = argc > 2 ? same : all_kinds;
	int n = argc > 1 ? atoi(argv[1]) : 1000, sum = 0, values[8];
	function volatile pointer = by_global;

	signal(SIGUSR1, handler);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 8; k++) {
			all.table[k] = kinds[(k + i) & 7];
			values[k] = (k * 5 + i) & 7;
		}
		all.far = kinds[i & 7];
		global = kinds[i & 3];
		if (i & 1)
			initial = kinds[i / 2 & 7];
		sum += by_register(i, all.far) + by_memory(i, &all) + by_table(i, i + 3);
		sum += by_choice(i, i) + leaving(i) + recursive(i, i & 3) + pointer(i);
		sum += by_initial(i) + (i & 1 ? by_initial(sum & 7) : 0);
		sum += on_stack(i, 1, 2, 3, 4, 5, 6, sum_of) + run(argc > 2 ? -1 : i, 9);
		qsort(values, 8, sizeof(*values), compare);
		sum = (sum + values[3]) & 0xfffffff;
	}
#ifdef __OPTIMIZE__
	for (int i = 0; i < 4; i++)
		sum += run(i, 300);
#endif
	printf("%d\n", sum);
	return 0;
}

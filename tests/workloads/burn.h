/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the workloads.  Each spends some tenths of a second of CPU time where its header says,
 * and prints a number that depends on all of its work.  Words in the headers:
 *   flags: ...          compiler and linker flags (default: -O2); repeatable
 *   needs: GCC VERSION  the oldest version of GCC that compiles it
 *   expect: REGEX       a line of `pcce-report --format=folded` must match; repeatable
 *   origin: REGEX       a line of `pcce-report --origins --format=folded` must match; repeatable
 *   no-origin: REGEX    no line of that report may match; repeatable
 *   min-depth: N        max_depth of the report is at least N
 *   truncated: yes      samples may be marked as truncated
 *   no-verify: REASON   the check against the real stack is left out
 *   verify: HZ MINIMUM  for that check: samples per second, least number (default: 4000 100)
 *   sampled: no         it ends too soon for samples: tests/oracle only
 *   step: OPTIONS       for tests/oracle/step
 */
#ifndef BURN_H
#define BURN_H

#include <stdio.h>
#include <stdlib.h>

static volatile unsigned int burnt;

/* How often a loop runs.  tests/oracle runs the workloads one instruction at a time, about 10,000
 * times slower.  It compiles them with -DPCCE_STEPPED: loops then run as often as needed to reach
 * all states once. */
#ifdef PCCE_STEPPED
#define ROUNDS(all, stepped) (stepped)
#else
#define ROUNDS(all, stepped) (all)
#endif

/* A larger divisor makes the workloads shorter, for slow machines.  Their output stays the same.
 */
#ifndef BURN_DIVISOR
#define BURN_DIVISOR 1
#endif

/* Works for some hundred nanoseconds in a function that no compiler removes or inlines. */
__attribute__((noinline, noclone, unused)) static void burn(unsigned int n)
{
	for (unsigned int i = 0; i < ROUNDS(n / BURN_DIVISOR, n % 3); i++)
		burnt += i;
}

/* Returns the next number of a fixed sequence, the same on every machine. */
__attribute__((unused)) static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 16;
}

#define NOINLINE __attribute__((noinline, noclone))

#endif

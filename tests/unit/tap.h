/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The little that a unit test needs to speak TAP. */
#ifndef PCCE_TAP_H
#define PCCE_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_tests, tap_failures;

/* One test; the message after its name says more when it fails. Returns good. */
__attribute__((format(printf, 3, 4))) static inline bool tap_ok(bool good, const char *name,
								const char *format, ...)
{
	va_list args;

	printf("%s %d - %s\n", good ? "ok" : "not ok", ++tap_tests, name);
	if (!good) {
		tap_failures++;
		printf("#   ");
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
	}
	fflush(stdout);
	return good;
}

/* How many of up to n random cases to try: a tenth, or a fiftieth with sanitizers, or all if
 * PCCE_TEST_LONG is set. */
static inline long tap_rounds(long n)
{
#ifdef __SANITIZE_ADDRESS__
	const long part = 50;
#else
	const long part = 10;
#endif

	return getenv("PCCE_TEST_LONG") ? n : n / part;
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_tests);
	return tap_failures != 0;
}

/* Repeatable random numbers (xorshift64*). */
static inline uint32_t tap_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * 0x2545f4914f6cdd1dull) >> 32;
}

#endif

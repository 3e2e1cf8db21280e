// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include "tap.h"

static int count, failed;

void ok(bool good, const char *fmt, ...)
{
	va_list args;

	printf("%sok %d - ", good ? "" : "not ", ++count);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	failed += !good;
}

int done_testing(void)
{
	printf("1..%d\n", count);
	return failed ? 1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See format_number.h. */
#include <inttypes.h>
#include <stdio.h>
#include "record/format_number.h"

void format_count(char *to, size_t size, uint64_t n)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, n), i;
	size_t at = 0;

	for (i = 0; i < length && at + 2 < size; i++) {
		if (i && (length - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = 0;
}

void format_bytes(char *to, size_t size, uint64_t bytes)
{
	if (bytes < 1000000)
		snprintf(to, size, "%.1f kB", (double)bytes / 1e3);
	else if (bytes < 1000000000)
		snprintf(to, size, "%.1f MB", (double)bytes / 1e6);
	else
		snprintf(to, size, "%.2f GB", (double)bytes / 1e9);
}

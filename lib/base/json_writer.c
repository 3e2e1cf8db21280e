/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See json_writer.h. */
#include <string.h>
#include "base/json_writer.h"
#include "base/text.h"

void json_write_text(const char *s, FILE *out)
{
	char buffer[4096];

	s = text_clean(s, buffer, sizeof(buffer)); /* leaves no control characters */
	putc_unlocked('"', out);
	while (*s) {
		size_t n = strcspn(s, "\"\\");

		fwrite_unlocked(s, 1, n, out);
		s += n;
		if (*s) {
			putc_unlocked('\\', out);
			putc_unlocked(*s++, out);
		}
	}
	putc_unlocked('"', out);
}

void json_write_number(uint64_t n, FILE *out)
{
	char digits[20], *at = digits + sizeof(digits);

	do
		*--at = '0' + n % 10;
	while (n /= 10);
	fwrite_unlocked(at, 1, digits + sizeof(digits) - at, out);
}

void json_write_decimal(uint64_t n, unsigned int decimals, FILE *out)
{
	char digits[24], *at = digits + sizeof(digits);

	for (unsigned int i = 0; n || i <= decimals; i++) {
		if (i == decimals && decimals)
			*--at = '.';
		*--at = '0' + n % 10;
		n /= 10;
	}
	fwrite_unlocked(at, 1, digits + sizeof(digits) - at, out);
}

json_t *json_clean_string(const char *s)
{
	char buffer[4096];

	return json_string(text_clean(s, buffer, sizeof(buffer)));
}

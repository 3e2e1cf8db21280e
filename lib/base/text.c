/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See text.h. */
#include <stdbool.h>
#include <string.h>
#include "base/text.h"

double text_percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * part / all : 0.0;
}

const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Returns the length of the UTF-8 sequence at s; 0: it is invalid. */
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

const char *text_clean(const char *text, char *buffer, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	bool clean = true;
	size_t out = 0, n;

	for (const unsigned char *c = s; *c && clean; c += n) {
		n = utf8_length(c);
		clean = n && *c >= 0x20 && *c != 0x7f;
	}
	if (clean)
		return text;
	while (*s && out + 4 < size) {
		n = utf8_length(s);
		if (!n || *s < 0x20 || *s == 0x7f) {
			buffer[out++] = '?';
			s++;
			continue;
		}
		memcpy(buffer + out, s, n);
		out += n;
		s += n;
	}
	buffer[out] = 0;
	return buffer;
}

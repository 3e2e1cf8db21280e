/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See text.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

double text_percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * part / all : 0.0;
}

void text_bytes(char *to, size_t size, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double n = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(to, size, "%u B", (unsigned int)bytes);
		return;
	}
	for (n /= 1024; n >= 1023.95; n /= 1024)
		unit++;
	snprintf(to, size, "%.1f %ciB", n, units[unit]);
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

/* True for characters that move the cursor, begin a command to the terminal, or reorder or break a
 * line: controls of C0 and C1, line and paragraph separators, and bidirectional controls. */
static bool is_control(const unsigned char *s)
{
	if (*s < 0x20 || *s == 0x7f)
		return true;
	if (*s == 0xc2)
		return s[1] < 0xa0;
	if (*s != 0xe2)
		return false;
	return (s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

size_t text_character(const char *text, bool *good)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = utf8_length(s);

	*good = n && !is_control(s);
	return n ? n : 1;
}

const char *text_clean(const char *text, char *buffer, size_t size)
{
	bool good = true;
	size_t out = 0, n;

	for (const char *s = text; *s && good; s += n)
		n = text_character(s, &good);
	if (good)
		return text;
	for (; *text && out + 4 < size; text += n) {
		n = text_character(text, &good);
		memcpy(buffer + out, good ? text : "?", good ? n : 1);
		out += good ? n : 1;
	}
	buffer[out] = 0;
	return buffer;
}

/* Returns where text has n characters less, or its end. */
static const char *skip_characters(const char *text, size_t n)
{
	bool good;

	while (n-- && *text)
		text += text_character(text, &good);
	return text;
}

char *text_shorten_calls(const char *text, size_t most)
{
	const char *inner = text, *next, *head, *tail;
	char *shorter;

	while (*skip_characters(inner, most) && (next = strstr(inner, TEXT_CALLS)))
		inner = next + strlen(TEXT_CALLS);
	head = tail = skip_characters(inner, most);
	if (*head) {
		head = skip_characters(inner, most / 2);
		for (next = tail, tail = head; *next; next = skip_characters(next, 1))
			tail = skip_characters(tail, 1);
	}
	if (asprintf(&shorter, "%s%.*s%s%s", inner > text ? "…" TEXT_CALLS : "",
		     (int)(head - inner), inner, tail > head ? "…" : "", tail) < 0)
		return NULL;
	return shorter;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses expressions over functions, and compares names with them: see expression.h. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>
#include "api/expression.h"
#include "symbols/short_name.h"

void expression_free(struct expression *e)
{
	for (unsigned int i = 0; i < e->n; i++)
		free(e->name[i]);
	e->n = 0;
}

static bool is_space(char c)
{
	return isspace((unsigned char)c);
}

/* The next word that is an operator, or the end. *n: its length. */
static const char *find_operator(const char *text, size_t *n)
{
	for (const char *at = text; *at; at++) {
		if (*at != '<' || (at != text && !is_space(at[-1])))
			continue;
		*n = strspn(at, "<");
		if (*n > 3)
			continue;
		if (!at[*n] || is_space(at[*n]))
			return at;
	}
	*n = 0;
	return text + strlen(text);
}

int expression_parse(const char *text, struct expression *e, struct error *why)
{
	const char *at = text;
	size_t n;

	*e = (struct expression){.n = 0};
	do {
		const char *op = find_operator(at, &n), *end = op;

		while (is_space(*at))
			at++;
		while (end > at && is_space(end[-1]))
			end--;
		if (end <= at || e->n == EXPRESSION_PARTS) {
			expression_free(e);
			return end <= at ? error_set(why, -EINVAL,
						     "cannot select contexts by '%s': a function "
						     "is missing; write 'f < g'",
						     text)
					 : error_set(why, -EINVAL,
						     "cannot select contexts by '%s': it has more "
						     "than %d functions; leave some out with '<<'",
						     text, EXPRESSION_PARTS);
		}
		e->name[e->n] = strndup(at, (size_t)(end - at));
		if (!e->name[e->n]) {
			expression_free(e);
			return error_memory(why);
		}
		e->any[e->n] = n >= 2;
		e->cross[e->n++] = n == 3;
		at = op + n;
	} while (n);
	return 0;
}

/* A star matches any text. */
static bool match_text(const char *pattern, const char *text)
{
	const char *star = NULL, *from = text;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static uint8_t match_all(const struct expression *e, const char *text)
{
	uint8_t parts = 0;

	for (unsigned int i = 0; text && i < e->n; i++)
		parts |= (uint8_t)((unsigned int)match_text(e->name[i], text) << i);
	return parts;
}

/* Users copy short names from reports. */
static uint8_t match_short(const struct expression *e, const char *full)
{
	uint8_t parts = 0;

	for (unsigned int i = 0; full && i < e->n; i++)
		parts |= (uint8_t)((unsigned int)short_name_matches(e->name[i], full) << i);
	return parts;
}

/* A C++ name is matched with and without its parameters, and in short form. f.constprop.0 and the
 * like are also matched as f. */
uint8_t expression_match(const struct expression *e, const char *symbol)
{
	uint8_t parts = match_all(e, symbol);
	char *base = strndup(symbol, strcspn(symbol, "."));

	if (base && *base)
		parts |= match_all(e, base);
	if (base && !strncmp(base, "_Z", 2)) {
		char *full = cplus_demangle_v3(base, DMGL_PARAMS | DMGL_ANSI),
		     *simple = cplus_demangle_v3(base, DMGL_ANSI);

		parts |= match_all(e, full) | match_all(e, simple) | match_short(e, full);
		free(full);
		free(simple);
	}
	free(base);
	return parts;
}

uint64_t expression_frame(const struct expression *e, uint8_t parts)
{
	uint64_t m = 0;

	for (unsigned int q = 0; q <= e->n; q++) {
		uint64_t to = 0;

		if (q == 0 || q == e->n || e->any[q - 1])
			to |= 1u << q;
		if (q < e->n && parts & 1u << q)
			to |= 1u << (q + 1);
		m |= to << 8 * q;
	}
	return m;
}

bool expression_crosses(const struct expression *e)
{
	for (unsigned int i = 0; i < e->n; i++)
		if (e->cross[i])
			return true;
	return false;
}

uint64_t expression_thread(const struct expression *e)
{
	uint64_t m = 1ULL << (8 * e->n + e->n);

	for (unsigned int q = 1; q < e->n; q++)
		if (e->cross[q - 1])
			m |= 1ULL << (8 * q + q);
	return m;
}

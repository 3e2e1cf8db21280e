/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Computes the distance of two words by Damerau and Levenshtein, in its restricted form: no letter
 * takes part in two changes. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/similar.h"

#define LONGEST 64
#define BEGINNING 3 /* letters that say enough of a name */
#define CHANGES 3   /* at most */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The rows of the usual table: for the first i letters of a, and for one and two letters less. */
static size_t distance(const char *a, const char *b, size_t in_a, size_t in_b)
{
	size_t rows[3][LONGEST + 1];

	for (size_t j = 0; j <= in_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= in_a; i++) {
		size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= in_b; j++) {
			row[j] = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
			row[j] = least(row[j], least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[in_a % 3][in_b];
}

static bool is_similar(const char *wanted, const char *name)
{
	size_t n = strlen(wanted), in_name = strlen(name), longer = n > in_name ? n : in_name;

	if (longer > LONGEST)
		return false;
	return (n >= BEGINNING && !strncasecmp(wanted, name, n)) ||
	       distance(wanted, name, n, in_name) <= least(longer / 3, CHANGES);
}

void similar_add(char *list, size_t size, const char *wanted, const char *name)
{
	size_t at = strlen(list);

	if (is_similar(wanted, name))
		snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shortens contexts in one line. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "tests/unit/tap.h"

static void shortens(const char *name, const char *text, size_t most, const char *want)
{
	char *got = text_shorten_calls(text, most);

	tap_ok(got && !strcmp(got, want), name, "got \"%s\"", got ? got : "nothing");
	free(got);
}

int main(void)
{
	shortens("what fits", "main → f  a.c:1", 15, "main → f  a.c:1");
	shortens("the innermost functions", "main → f → g  a.c:1", 15, "… → f → g  a.c:1");
	shortens("the innermost function", "main → f → g  a.c:1", 10, "… → g  a.c:1");
	shortens("a name with > and ->", "main → p<(a > b), c->d>()  a.c:1", 26,
		 "… → p<(a > b), c->d>()  a.c:1");
	shortens("a long name", "main → vector<vector<int> >::start()  a.c:1", 20,
		 "… → vector<vec…t()  a.c:1");
	shortens("a long name alone", "abcdefghijkl", 6, "abc…jkl");
	shortens("characters of several bytes", "äöüßäöüßäöüß", 6, "äöü…öüß");
	shortens("bytes that are no characters", "\377\377\377\377", 2, "\377…\377");
	shortens("nothing", "", 6, "");
	return tap_done();
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds names that are misspelled. */
#include <string.h>
#include "base/similar.h"
#include "tests/unit/tap.h"

static void finds(const char *what, const char *wanted, const char *want)
{
	static const char *const names[] = {"record", "report", "cycles", "cpu-cycles", "cs"};
	char list[64] = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		similar_add(list, sizeof(list), wanted, names[i]);
	tap_ok(!strcmp(list, want), what, "got \"%s\"", list);
}

int main(void)
{
	static char longest[66];
	char list[8] = "";

	finds("a letter too few", "recrd", "record");
	finds("a letter too many", "reccord", "record");
	finds("another letter", "cyclet", "cycles");
	finds("two letters swapped", "recrod", "record");
	finds("three letters swapped in two steps", "erocrd", "record");
	finds("another case", "CPU-Cycle", "cpu-cycles");
	finds("a beginning", "cpu", "cpu-cycles");
	finds("the beginning of several names", "re", "");
	finds("two names", "repord", "record, report");
	finds("one letter of two", "cd", "");
	finds("another word", "lunch", "");
	finds("nothing", "", "");
	memset(longest, 'c', 64);
	finds("a word of 64 letters", longest, "");
	longest[64] = 'c';
	finds("a longer word", longest, "");
	similar_add(list, sizeof(list), "recor", "record");
	similar_add(list, sizeof(list), "repor", "report");
	tap_ok(!strcmp(list, "record,"), "a list that is too long is cut", "got \"%s\"", list);
	return tap_done();
}

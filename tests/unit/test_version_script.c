/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds names to version scripts of all shapes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "encode/version_script.h"
#include "tests/unit/tap.h"

static char first[] = "page", second[] = "setjmp";
static char *names[] = {first, second};

/* want: NULL if the text defines no version */
static void gives(const char *name, const char *text, const char *want)
{
	char *got = NULL;
	int r = version_script_export(text, names, 2, &got);
	bool good = want ? !r && got && !strcmp(got, want) : r == -EINVAL && !got;

	tap_ok(good, name, "got %d, \"%s\"", r, got ? got : "nothing");
	free(got);
}

int main(void)
{
	gives("a list of globals", "{ global: main; local: *; };",
	      "{ global: page; setjmp; main; local: *; };");
	gives("spaces before the colon", "{\n global\t:main; };",
	      "{\n global\t: page; setjmp;main; };");
	gives("only locals", "{ local: *; };", "{ global: page; setjmp; local: *; };");
	gives("names without a list", "{ main; };", "{  page; setjmp; main; };");
	gives("a name that begins as a list does", "{ global_name; local_name; };",
	      "{  page; setjmp; global_name; local_name; };");
	gives("nothing in it", "{};", "{global: page; setjmp; };");
	gives("comments", "# { x\n/* { g */ { # global:\n/* local: */ local: *; };",
	      "# { x\n/* { g */ { # global:\n/* local: */ global: page; setjmp; local: *; };");
	gives("C++ names first", "{ extern \"C++\" { \"f()\"; }; local: *; };",
	      "{  page; setjmp; extern \"C++\" { \"f()\"; }; local: *; };");
	gives("C++ names in the list", "{ global: extern \"C++\" { ns::*; }; local: *; };",
	      "{ global: page; setjmp; extern \"C++\" { ns::*; }; local: *; };");
	gives("a version", "V1 { global: main; local: *; };",
	      "PCCE_RUNTIME { global: page; setjmp; }; V1 { global: main; local: *; };");
	gives("two versions behind a comment", "/* a */\nV1 { a; };\nV2 { b; } V1;\n",
	      "PCCE_RUNTIME { global: page; setjmp; }; /* a */\nV1 { a; };\nV2 { b; } V1;\n");
	gives("nothing", "", NULL);
	gives("comments alone", " # {\n/* { */ ", NULL);
	gives("a comment without an end", "/* { global: a; };", NULL);
	gives("no brace", "V1 global: main;", NULL);
	gives("a brace in a string", "V1 \"{\"", NULL);
	gives("a string without an end", "V1 \"{", NULL);
	gives("no closing brace", "{", "{ page; setjmp; ");
	return tap_done();
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tests expressions over functions (lib/api/expression.c): parsing, names, and what their matrices
 * make of chains of frames. */
#include <errno.h>
#include <string.h>
#include "tests/unit/tap.h"
#include "api/expression.h"

static void check_that(bool good, const char *name)
{
	tap_ok(good, name, "see the test's source");
}

/* Does the chain, innermost first, fit? A thread begins at "|". */
static bool fits(const char *text, const char *chain)
{
	struct expression e;
	struct error why;
	uint64_t product = PCCE_SET_IDENTITY;
	char name[2] = "";

	if (expression_parse(text, &e, &why))
		return false;
	for (; *chain; chain++) {
		name[0] = *chain;
		product = pcce_set_product(
			product, *chain == '|' ? expression_thread(&e)
					       : expression_frame(&e, expression_match(&e, name)));
	}
	product = product >> e.n & 1;
	expression_free(&e);
	return product;
}

static void test_chains(void)
{
	check_that(fits("f", "abfc"), "one function, anywhere");
	check_that(!fits("f", "abc"), "... and not");
	check_that(fits("f < g", "afgb"), "a call");
	check_that(!fits("f < g", "gf"), "... not the other way round");
	check_that(!fits("f < g", "fxg"), "... and not with another between");
	check_that(fits("f << g", "fxyg"), "calls between");
	check_that(fits("f << g", "fg"), "... or none");
	check_that(fits("f < f < f", "affff"), "recursion");
	check_that(!fits("f < f < f", "affaf"), "... that is too short");
	check_that(fits("f < g << h < i", "afgfxhihi"), "both, with a second attempt");
	check_that(!fits("f < g << h < i", "fghxi"), "... and not");
	check_that(fits("a < b < c < d < e < f < g", "abcdefg"), "seven functions");
	check_that(fits("f << f << g", "xfxfxg"), "a function twice");
	check_that(!fits("f << f << g", "xfxxg"), "... but not once");
	check_that(fits("f <<< g", "xfx|xgx"), "a thread's creation context");
	check_that(fits("f <<< g", "xfx|xx|xg"), "... or that of its creator");
	check_that(fits("f <<< g", "xfxg|x") && fits("f <<< g", "fg"), "... or no thread");
	check_that(!fits("f << g", "xfx|xgx") && !fits("f < g", "f|g"), "... only with <<<");
	check_that(fits("f < g <<< h < i", "xfgx|xhix"), "... between calls");
	check_that(!fits("f < g <<< h < i", "xfgx|xhx|ix"), "... which are each in one thread");
	check_that(!fits("f <<< g", "x|xfxgx") && !fits("f", "x|f"),
		   "a chain begins in the thread");
}

static bool matches(const char *text, const char *symbol)
{
	struct expression e;
	struct error why;
	bool r;

	if (expression_parse(text, &e, &why))
		return false;
	r = expression_match(&e, symbol);
	expression_free(&e);
	return r;
}

static void test_names(void)
{
	check_that(matches("parse", "parse") && !matches("parse", "parse2"), "a name of C");
	check_that(matches("parse", "parse.constprop.0"), "a clone of it");
	check_that(matches("parse.constprop.0", "parse.constprop.0"), "... by its own name");
	check_that(matches("a::f(int)", "_ZN1a1fEi") && matches("a::f", "_ZN1a1fEi") &&
			   matches("_ZN1a1fEi", "_ZN1a1fEi"),
		   "names of C++, with and without parameters");
	check_that(!matches("a::f(long)", "_ZN1a1fEi"), "... with other ones");
	check_that(matches("*", "x") && matches("a*", "abc") && matches("*c", "abc") &&
			   matches("a*b*c", "axbxbc"),
		   "stars");
	check_that(!matches("a*b", "abc") && !matches("*d*", "abc"), "... that do not match");
	check_that(matches("operator< <int>", "operator< <int>"), "an operator of C++ is a name");
}

static void is_refused(const char *text, const char *reason)
{
	struct expression e;
	struct error why = {""};

	tap_ok(expression_parse(text, &e, &why) == -EINVAL && strstr(why.text, reason), reason,
	       "'%s': %s", text, why.text);
}

static void test_errors(void)
{
	is_refused("", "a function is missing");
	is_refused("f <", "a function is missing");
	is_refused("< f", "a function is missing");
	is_refused("f < << g", "a function is missing");
	is_refused("a < b < c < d < e < f < g < h", "more than 7 functions");
}

int main(void)
{
	test_chains();
	test_names();
	test_errors();
	return tap_done();
}

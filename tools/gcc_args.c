/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tells from a command line of gcc or g++ what the compiler will do.
 *
 * An option that is not known here changes nothing, so the answer may be "links" where GCC does
 * less.  This is harmless: GCC then ignores the flags for linking.  The opposite would leave a
 * program without its encoding, so values such as that of `-Xlinker -E` are not taken for options.
 */
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tools/gcc_args.h"

static const char *const with_value[] = {
	"--param",    "--sysroot",
	"-A",	      "-B",
	"-D",	      "-I",
	"-L",	      "-MF",
	"-MQ",	      "-MT",
	"-R",	      "-T",
	"-U",	      "-Xassembler",
	"-Xlinker",   "-Xpreprocessor",
	"-aux-info",  "-dumpbase",
	"-dumpdir",   "-dumpbase-ext",
	"-e",	      "-h",
	"-idirafter", "-imacros",
	"-include",   "-imultiarch",
	"-imultilib", "-iprefix",
	"-iquote",    "-isysroot",
	"-isystem",   "-iwithprefix",
	"-l",	      "-iwithprefixbefore",
	"-o",	      "-specs",
	"-u",	      "-wrapper",
	"-x",	      "-z",
	NULL,
};
/* GCC answers these, and does nothing else. */
static const char *const questions[] = {
	"--version",	"--help",     "--target-help",	  "-dumpversion",
	"-dumpmachine", "-dumpspecs", "-dumpfullversion", NULL,
};
static const char *const before_compiling[] = {"-E", "-M", "-MM", "-fsyntax-only", NULL};
static const char *const before_linking[] = {"-S", "-c", NULL};
static const char *const other_machines[] = {"-m16", "-m32", "-mx32", "-miamcu", NULL};

static bool is_one_of(const char *arg, const char *const *list)
{
	while (*list && strcmp(arg, *list) != 0)
		list++;
	return *list;
}

static bool has_beginning(const char *arg, const char *prefix)
{
	return !strncmp(arg, prefix, strlen(prefix));
}

static bool is_question(const char *arg)
{
	return is_one_of(arg, questions) || has_beginning(arg, "-print-") ||
	       has_beginning(arg, "--print-") || has_beginning(arg, "--help=");
}

/* GCC takes options for the linker for an input, too.  configure asks by `-Wl,--version` alone, but
 * -Wl,--whole-archive,FILE names a file. */
static bool is_input(const char *arg)
{
	if (*arg != '-' || !arg[1] || has_beginning(arg, "-l"))
		return true;
	if (!has_beginning(arg, "-Wl,"))
		return false;
	for (const char *at = strchr(arg, ','); at; at = strchr(at + 1, ','))
		if (at[1] != '-')
			return true;
	return false;
}

enum gcc_work gcc_args_work(int argc, char **argv)
{
	bool question = false, input = false, compiles = true, links = true, x86_64 = true;

	/* Puts the content of response files in place of their names, as GCC does. */
	expandargv(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];

		question |= is_question(arg);
		input |= is_input(arg);
		compiles &= !is_one_of(arg, before_compiling);
		links &= !is_one_of(arg, before_linking);
		x86_64 = (x86_64 && !is_one_of(arg, other_machines)) || !strcmp(arg, "-m64");
		i += is_one_of(arg, with_value);
	}
	if (question || !input || !compiles || !x86_64)
		return GCC_OTHER;
	return links ? GCC_LINKS : GCC_COMPILES;
}

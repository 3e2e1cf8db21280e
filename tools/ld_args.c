/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the output's name among a linker's arguments, for bfd, gold, lld and mold:
 * -o FILE, -oFILE, --output FILE, --output=FILE; the last one counts.  Arguments of
 * other options must not be mistaken for them: -o is the only option whose name is
 * "o", and long options that begin with -o take one dash with gold and lld only in full.
 *
 * Response files are taken apart as libiberty does: separated by white space; quotes of
 * both kinds; a backslash protects any character.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "encode/encode.h"
#include "tools/ld_args.h"

#define DEPTH_MAX 16

struct parser {
	struct ld_args *out;
	bool output_follows;
	bool skip; /* the argument of an option that could look like another option */
};

static int set_output(struct parser *p, const char *name)
{
	free(p->out->output);
	p->out->output = strdup(name);
	return p->out->output ? 0 : -ENOMEM;
}

static bool takes_argument(const char *arg)
{
	static const char *const options[] = {
		"-A",
		"-b",
		"-c",
		"-e",
		"-F",
		"-f",
		"-G",
		"-h",
		"-L",
		"-l",
		"-m",
		"-P",
		"-R",
		"-T",
		"-u",
		"-Y",
		"-y",
		"-z",
		"-a",
		"-dT",
		"-Map",
		"-soname",
		"-rpath",
		"-rpath-link",
		"-plugin",
		"-plugin-opt",
		"-dynamic-linker",
		"--dynamic-linker",
		"--entry",
		"--undefined",
		"--script",
		"--version-script",
		"--defsym",
		"--wrap",
		"--soname",
		"--rpath",
		"--rpath-link",
		"--plugin",
		"--plugin-opt",
		"--section-start",
		"-Ttext",
		"-Tdata",
		"-Tbss",
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strcmp(arg, options[i]))
			return true;
	return false;
}

static int parse_file(struct parser *p, const char *path, int depth);

static int parse_argument(struct parser *p, const char *arg, int depth)
{
	if (p->output_follows) {
		p->output_follows = false;
		return set_output(p, arg);
	}
	if (p->skip) {
		p->skip = false;
		return 0;
	}
	if (arg[0] == '@' && depth < DEPTH_MAX)
		return parse_file(p, arg + 1, depth + 1);
	if (!strcmp(arg, "-o") || !strcmp(arg, "--output"))
		p->output_follows = true;
	else if (!strncmp(arg, "--output=", 9))
		return set_output(p, arg + 9);
	else if (!strcmp(arg, "-r") || !strcmp(arg, "-i") || !strcmp(arg, "-Ur") ||
		 !strcmp(arg, "--relocatable") || !strcmp(arg, "-relocatable") ||
		 !strcmp(arg, "--relocateable"))
		p->out->relocatable = true;
	else if (!strcmp(arg, "--gc-sections") || !strcmp(arg, "-gc-sections"))
		p->out->gc_sections = true;
	else if (!strcmp(arg, "--no-gc-sections") || !strcmp(arg, "-no-gc-sections"))
		p->out->gc_sections = false;
	else if (takes_argument(arg))
		p->skip = true;
	else if (!strncmp(arg, "-o", 2) && strncmp(arg, "-omagic", 7) &&
		 strncmp(arg, "-oformat", 8))
		return set_output(p, arg + 2);
	return 0;
}

/* One argument of a response file, in place; NULL at the end. */
static char *next_argument(char **at)
{
	char *in = *at, *out, *start, quote = 0;

	while (*in && isspace((unsigned char)*in))
		in++;
	if (!*in)
		return NULL;
	start = out = in;
	for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
		if (*in == '\\' && in[1])
			*out++ = *++in;
		else if (quote && *in == quote)
			quote = 0;
		else if (!quote && (*in == '\'' || *in == '"'))
			quote = *in;
		else
			*out++ = *in;
	}
	*at = *in ? in + 1 : in;
	*out = 0;
	return start;
}

static int parse_file(struct parser *p, const char *path, int depth)
{
	struct error ignored;
	uint8_t *data;
	size_t size;
	char *text, *at, *arg;
	int err = 0;

	if (encode_read_file(path, &data, &size, &ignored))
		return 0;
	text = realloc(data, size + 1);
	if (!text) {
		free(data);
		return -ENOMEM;
	}
	text[size] = 0;
	at = text;
	while (!err && (arg = next_argument(&at)))
		err = parse_argument(p, arg, depth);
	free(text);
	return err;
}

int ld_args_parse(int argc, char *const *argv, struct ld_args *out)
{
	struct parser p = {.out = out};
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (int i = 1; !err && i < argc; i++)
		err = parse_argument(&p, argv[i], 0);
	if (!err && !out->output)
		err = set_output(&p, "a.out");
	if (err)
		ld_args_free(out);
	return err;
}

void ld_args_free(struct ld_args *a)
{
	free(a->output);
	memset(a, 0, sizeof(*a));
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the name of the output among a linker's arguments, and a few options, for bfd, gold, lld
 * and mold.
 *
 * The forms are -o FILE, -oFILE, --output FILE and --output=FILE; the last one counts.  An argument
 * of another option must not be taken for one of these forms.  -o is the only option of the name
 * "o".  gold and lld take a long option that begins with -o after one dash only if it is complete.
 *
 * Response files are split as libiberty splits them: white space separates arguments, quotes of
 * both kinds enclose them, and a backslash protects any character.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "encode/encode.h"
#include "tools/ld_args.h"

#define DEPTH_MAX 16

struct parser {
	struct ld_args *out;
	bool output_follows, script_follows, depend_follows;
	bool skip; /* the next argument belongs to an option and could look like another option */
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

static int keep_argument(struct ld_args *a, const char *arg)
{
	if (array_grow(&a->all, a->n, sizeof(*a->all)))
		return -ENOMEM;
	a->all[a->n] = strdup(arg);
	return a->all[a->n] ? (a->n++, 0) : -ENOMEM;
}

/* The version script of the newest argument. */
static void set_script(struct ld_args *a)
{
	if (!a->has_script)
		a->script = a->n - 1;
	a->has_script = true;
}

static int set_depend(struct ld_args *a, const char *path)
{
	free(a->depend);
	a->depend = strdup(path);
	return a->depend ? 0 : -ENOMEM;
}

/* Is it the long option, with one or two dashes? An argument may follow after '='. */
static bool is_long(const char *arg, const char *name)
{
	size_t length = strlen(name);

	if (arg[0] != '-')
		return false;
	arg += arg[1] == '-' ? 2 : 1;
	return !strncmp(arg, name, length) && (!arg[length] || arg[length] == '=');
}

static int parse_response_file(struct parser *p, const char *path, int depth);

static int parse_linker_argument(struct parser *p, const char *arg, int depth)
{
	if (!p->output_follows && !p->skip && arg[0] == '@' && depth < DEPTH_MAX)
		return parse_response_file(p, arg + 1, depth + 1);
	if (keep_argument(p->out, arg))
		return -ENOMEM;
	if (p->output_follows) {
		p->output_follows = false;
		return set_output(p, arg);
	}
	if (p->skip) {
		p->skip = false;
		return 0;
	}
	if (p->depend_follows) {
		p->depend_follows = false;
		return set_depend(p->out, arg);
	}
	if (p->script_follows) {
		p->script_follows = false;
		set_script(p->out);
		return 0;
	}
	if (!strcmp(arg, "-o") || !strcmp(arg, "--output"))
		p->output_follows = true;
	else if (!strncmp(arg, "--output=", 9))
		return set_output(p, arg + 9);
	else if (!strcmp(arg, "-r") || !strcmp(arg, "-i") || !strcmp(arg, "-Ur") ||
		 !strcmp(arg, "--relocatable") || !strcmp(arg, "-relocatable") ||
		 !strcmp(arg, "--relocateable"))
		p->out->relocatable = true;
	else if (!strcmp(arg, "-shared") || !strcmp(arg, "--shared") || !strcmp(arg, "-Bshareable"))
		p->out->shared = true;
	else if (!strcmp(arg, "--gc-sections") || !strcmp(arg, "-gc-sections"))
		p->out->gc_sections = true;
	else if (!strcmp(arg, "--no-gc-sections") || !strcmp(arg, "-no-gc-sections"))
		p->out->gc_sections = false;
	else if (is_long(arg, "exclude-libs")) {
		p->out->exclude_libs = true;
		p->skip = !strchr(arg, '=');
	} else if (is_long(arg, "dependency-file")) {
		if (strchr(arg, '='))
			return set_depend(p->out, strchr(arg, '=') + 1);
		p->depend_follows = true;
	} else if (is_long(arg, "version-script")) {
		if (strchr(arg, '='))
			set_script(p->out);
		else
			p->script_follows = true;
	} else if (takes_argument(arg))
		p->skip = true;
	else if (!strncmp(arg, "-o", 2) && strncmp(arg, "-omagic", 7) &&
		 strncmp(arg, "-oformat", 8))
		return set_output(p, arg + 2);
	return 0;
}

/* Unquotes the next argument of a response file in place. Returns NULL at the end. */
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

static int parse_response_file(struct parser *p, const char *path, int depth)
{
	struct error ignored;
	uint8_t *data;
	size_t size;
	char *text, *at, *arg;
	int err = 0;

	if (encode_read_file(path, &data, &size, &ignored)) {
		data = NULL;
		if (asprintf(&text, "@%s", path) < 0)
			return -ENOMEM;
		err = keep_argument(p->out, text);
		free(text);
		return err;
	}
	text = realloc(data, size + 1);
	if (!text) {
		free(data);
		return -ENOMEM;
	}
	text[size] = 0;
	at = text;
	while (!err && (arg = next_argument(&at)))
		err = parse_linker_argument(p, arg, depth);
	free(text);
	return err;
}

int ld_args_parse(int argc, char *const *argv, struct ld_args *out)
{
	struct parser p = {.out = out};
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (int i = 1; !err && i < argc; i++)
		err = parse_linker_argument(&p, argv[i], 0);
	if (!err && !out->output)
		err = set_output(&p, "a.out");
	if (err)
		ld_args_free(out);
	return err;
}

void ld_args_free(struct ld_args *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->all[i]);
	free(a->all);
	free(a->depend);
	free(a->output);
	memset(a, 0, sizeof(*a));
}

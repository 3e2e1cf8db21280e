/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Encodes a linked file: the command line of pcce-encode. lib/encode does the work. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/message.h"
#include "profile/call_counts_read.h"
#include "elf/table_dump.h"
#include "encode/encode.h"

const char *argp_program_version = "pcce-encode (pcce) " PCCE_VERSION;

enum { KEY_HYBRID = 256, KEY_BREAKPOINTS };

struct arguments {
	const char *file, *output, *profile;
	bool verbose, dump, hybrid, breakpoints;
	enum table_dump_format format;
};

static const struct argp_option options[] = {
	{"breakpoints", KEY_BREAKPOINTS, NULL, 0,
	 "Encode FILE, even if it is encoded already, so that all calls of a function pass its "
	 "first "
	 "byte: for breakpoints and probes; such calls cost more",
	 0},
	{"dump", 'd', "FORMAT", OPTION_ARG_OPTIONAL,
	 "Print the call graph and its numbering instead of encoding; FORMAT is text (default) or "
	 "json",
	 0},
	{"hybrid", KEY_HYBRID, NULL, 0,
	 "Encode FILE, even if it is encoded already, so that the depth of the stack tells "
	 "contexts "
	 "apart where it can: a method for studies of encodings, see the manual",
	 0},
	{"output", 'o', "OUT", 0, "Write the encoded file to OUT; keep FILE as it is", 0},
	{"profile", 'p', "DATA", 0,
	 "Encode FILE so that calls that are hot in the recording DATA cost least, even if FILE is "
	 "encoded already",
	 0},
	{"verbose", 'v', NULL, 0, "Tell what was done; with --dump, also print sites and edges", 0},
	{0},
};

static error_t parse_encode_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'd':
		a->dump = true;
		if (!arg || !strcmp(arg, "text"))
			a->format = TABLE_DUMP_TEXT;
		else if (!strcmp(arg, "json"))
			a->format = TABLE_DUMP_JSON;
		else
			message_usage(state, "cannot use --dump=%s: it must be text or json", arg);
		return 0;
	case KEY_BREAKPOINTS:
		a->breakpoints = true;
		return 0;
	case KEY_HYBRID:
		a->hybrid = true;
		return 0;
	case 'o':
		if (!strcmp(arg, "-"))
			message_usage(state, "cannot write the encoded file to standard output; "
					     "name a file with -o");
		a->output = arg;
		return 0;
	case 'p':
		if (a->profile)
			message_usage(state, "cannot use more than one recording; join them with "
					     "pcce-merge");
		a->profile = arg;
		return 0;
	case 'v':
		a->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			message_usage(state,
				      "cannot encode more than one file; run the command for "
				      "each file");
		a->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->file)
			message_usage(state, "cannot encode: no file is given; name a program or "
					     "a shared library");
		if (a->dump && a->output)
			message_usage(state,
				      "cannot use --output with --dump: --dump writes no file; "
				      "leave out --output");
		if (a->hybrid && a->profile)
			message_usage(state, "cannot use --profile with --hybrid: hybrid encoding "
					     "does not know recordings; leave out one of them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_encode_option,
	.args_doc = "FILE",
	.doc = "Number the calling contexts of FILE and write the numbers into it. FILE is a "
	       "program or shared library that was compiled with the flags of pcce-config. Linking "
	       "with these flags encodes automatically.\v"
	       "FILE is replaced as a whole or not at all. A file that is encoded already stays as "
	       "it is, unless --breakpoints, --hybrid or --profile is given.",
};

/* Prints the error, whose text begins with a verb. The exit status. */
static int cannot_encode(const char *file, const struct error *why)
{
	message("pcce-encode", "cannot encode '%s': it %s", file, why->text);
	return EXIT_FAILURE;
}

static int finish_output(void)
{
	if (fflush(stdout) || ferror(stdout)) {
		message("pcce-encode", "cannot write to standard output: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int print_dump(const struct arguments *a, const struct encode_options *how)
{
	struct encode_output e;
	struct error why;
	uint8_t *image;
	size_t size;
	int err = encode_read_file(a->file, &image, &size, &why);

	if (!err) {
		err = encode_image(image, size, how, &e, &why);
		free(image);
	}
	if (err)
		return cannot_encode(a->file, &why);
	if (e.result == ENCODE_NOT_FOR_US)
		err = error_set(
			&why, -EINVAL,
			"is not instrumented; compile and link it with the flags of pcce-config");
	else
		err = table_dump(e.table, e.table_size, e.result == ENCODE_ALREADY, a->format,
				 a->verbose, stdout, &why);
	encode_output_free(&e);
	return err ? cannot_encode(a->file, &why) : finish_output();
}

static int encode_and_tell(const struct arguments *a, const struct encode_options *how)
{
	struct encode_output e;
	struct error why;

	if (encode_file(a->file, a->output, how, &e, &why))
		return cannot_encode(a->file, &why);
	if (e.result == ENCODE_NOT_FOR_US) {
		encode_output_free(&e);
		error_set(&why, -EINVAL,
			  "is not instrumented; compile and link it with the flags of pcce-config");
		return cannot_encode(a->file, &why);
	}
	if (encode_hides_runtime(&e))
		message("pcce-encode", ENCODE_HIDES_RUNTIME, a->file);
	if (a->verbose && how->counts)
		printf("'%s' was encoded by %" PRIu64 " samples of '%s'\n", a->file,
		       how->counts->samples, a->profile);
	else if (a->verbose)
		printf("'%s' %s\n", a->file,
		       e.result == ENCODE_ALREADY ? "is already encoded" : "was encoded");
	encode_output_free(&e);
	return finish_output();
}

int main(int argc, char **argv)
{
	struct arguments a = {};
	struct call_counts counts = {};
	struct encode_options how = {};
	struct error why;
	int status;

	argp_err_exit_status = EXIT_FAILURE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.profile) {
		if (call_counts_read(a.profile, a.file, &counts, &why)) {
			message("pcce-encode", "%s", why.text);
			return EXIT_FAILURE;
		}
		how.counts = &counts;
	}
	how.hybrid = a.hybrid;
	how.fixed_entries = a.breakpoints;
	status = a.dump ? print_dump(&a, &how) : encode_and_tell(&a, &how);
	call_counts_free(&counts);
	return status;
}

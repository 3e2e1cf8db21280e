/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decodes the names of contexts in a log, and writes sets of contexts: the command line of
 * pcce-decode. lib/contexts does the work. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/message.h"
#include "contexts/log.h"
#include "contexts/select.h"
#include "symbols/debuginfo.h"

const char *argp_program_version = "pcce-decode (pcce) " PCCE_VERSION;

#define BLOCK (1u << 20)
#define LINE_LONGEST (1 << 24) /* a longer line becomes several */

struct arguments {
	char **dictionaries, **folders, **files;
	size_t n_dictionaries, n_folders, n_files;
	const char *expression, *output; /* --select */
	const char *crash;
	bool replace, raw, simple;
};

static const struct argp_option options[] = {
	{"dictionary", 'd', "FILE", 0,
	 "Read the meaning of names from FILE; can be given several times (default: "
	 "$PCCE_DICTIONARY)",
	 0},
	{"symbols", 's', "DIR", 0,
	 "Look for programs and libraries in DIR first; can be given several times", 0},
	{"crash", 'c', "FILE", 0,
	 "Read FILE in place of the log: a crash report, which has its own dictionary", 0},
	{"replace", 'r', NULL, 0, "Replace each name by its context, in one line", 0},
	{"select", 'x', "EXPRESSION", 0,
	 "Read no log: write the set of the contexts of PROGRAM in which these functions call each "
	 "other, such as 'f < g' (g calls f) or 'f << g' (with others between)",
	 0},
	{"output", 'o', "FILE", 0,
	 "With --select, write the set to FILE (default: pcce.set; -: standard output)", 0},
	{"raw-names", 'R', NULL, 0, "Print C++ names as the linker knows them", 0},
	{"simple-names", 'S', NULL, 0, "Print C++ names without parameters", 0},
	{0},
};

static error_t parse_decode_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'd':
		a->dictionaries[a->n_dictionaries++] = arg;
		return 0;
	case 's':
		a->folders[a->n_folders++] = arg;
		return 0;
	case 'r':
		a->replace = true;
		return 0;
	case 'R':
		a->raw = true;
		return 0;
	case 'S':
		a->simple = true;
		return 0;
	case 'c':
		a->crash = arg;
		a->dictionaries[a->n_dictionaries++] = arg;
		return 0;
	case 'x':
		a->expression = arg;
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		a->files[a->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->expression) {
			if (!a->n_files)
				message_usage(state, "cannot select contexts: no program is given");
			return 0;
		}
		if (a->n_files)
			message_usage(state,
				      "cannot read '%s': the log is read from standard input; use "
				      "'<'",
				      a->files[0]);
		if (a->output)
			message_usage(state, "cannot use --output without --select");
		if (!a->n_dictionaries && getenv("PCCE_DICTIONARY"))
			a->dictionaries[a->n_dictionaries++] = getenv("PCCE_DICTIONARY");
		if (!a->n_dictionaries)
			message_usage(state, "cannot decode: no dictionary is given; use "
					     "--dictionary or PCCE_DICTIONARY");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_decode_option,
	.args_doc = "<LOG\n--crash=FILE\n--select=EXPRESSION PROGRAM [LIBRARY...]",
	.doc = "Copy a log from standard input to standard output, with the calling contexts that "
	       "it names. A name is a word such as pcce:0123...cdef, which a program gets from "
	       "pcce_context_id(). The context follows the line, innermost function first."
	       "\vThe dictionary comes from the program: it runs with PCCE_DICTIONARY=FILE, or "
	       "calls pcce_dictionary_flush(). Programs and libraries are found by the names that "
	       "the dictionary has, and by build id in the folders of --symbols, in debuginfod's "
	       "cache and in /usr/lib/debug.",
};

static int cannot_decode(const char *text)
{
	message("pcce-decode", "%s", text);
	return EXIT_FAILURE;
}

/* The folders of --symbols are searched first, so they come last. */
static int add_folders(struct pcce_decode_dictionary *d, const struct arguments *a)
{
	int r = 0;

	for (unsigned int i = DEBUGINFO_CACHES; i && !r; i--) {
		char *cache = debuginfo_cache(i - 1);

		if (cache)
			r = pcce_decode_dictionary_search(d, cache, NULL);
		free(cache);
	}
	for (size_t i = a->n_folders; i && !r; i--)
		r = pcce_decode_dictionary_search(d, a->folders[i - 1], NULL);
	return r;
}

/* Prints the complete lines of a block; of a crash report without those of the dictionary. The
 * first `seen` bytes have no newline. Returns how many bytes the lines have, or -ENOMEM. */
static ssize_t print_lines(struct context_log *l, bool report, const char *block, size_t n,
			   size_t seen)
{
	const char *at = block, *from = block + seen, *end = block + n, *newline;

	while ((newline = memchr(from, '\n', (size_t)(end - from)))) {
		size_t length = (size_t)(newline - at);

		if (!(report && length > 6 && !memcmp(at, "pcce1 ", 6)) &&
		    context_log_line(l, at, length, stdout))
			return -ENOMEM;
		at = from = newline + 1;
	}
	return at - block;
}

/* Ends a line that is too long, between two words if it has any. Returns the new size. */
static size_t split_line(char *block, size_t n)
{
	char *space = memrchr(block, ' ', n);

	if (space)
		*space = '\n';
	else
		block[n++] = '\n';
	return n;
}

/* Lines are printed as soon as they are there. */
static int filter_log(struct context_log *l, int fd, bool report, struct error *why)
{
	size_t size = 2 * BLOCK, n = 0, seen = 0;
	char *block = malloc(size), *more;
	ssize_t got = 1, done = 0;

	while (block && got) {
		if (size - n <= BLOCK) {
			more = realloc(block, size * 2);
			if (!more)
				break;
			block = more;
			size *= 2;
		}
		got = read(fd, block + n, BLOCK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		n += (size_t)got;
		if (!got && n)
			block[n++] = '\n';
		done = print_lines(l, report, block, n, seen);
		if (!done && n >= LINE_LONGEST) {
			n = split_line(block, n);
			done = print_lines(l, report, block, n, 0);
		}
		if (done < 0)
			break;
		memmove(block, block + done, n - (size_t)done);
		n -= (size_t)done;
		seen = n;
		if (fflush(stdout))
			break;
	}
	free(block);
	if (got < 0)
		return error_set(why, -errno, "cannot read the log: %s", strerror(errno));
	if (ferror(stdout))
		return error_set(why, -EIO, "cannot write to standard output: %s", strerror(errno));
	return got || done < 0 ? error_memory(why) : 0;
}

static int filter_input(struct context_log *l, const char *crash, struct error *why)
{
	int fd = crash ? open(crash, O_RDONLY | O_CLOEXEC) : STDIN_FILENO, r;

	if (fd < 0)
		return error_set(why, -errno, "cannot open %s: %s", crash, strerror(errno));
	r = filter_log(l, fd, crash != NULL, why);
	if (crash)
		close(fd);
	return r;
}

static int decode_log(const struct arguments *a)
{
	uint64_t flags = PCCE_DECODE_INLINED | (a->raw ? PCCE_DECODE_RAW_NAMES : 0) |
			 (a->simple ? PCCE_DECODE_SIMPLE_NAMES : 0);
	struct pcce_decode_dictionary *d;
	struct pcce_decode_error text;
	struct context_log *l;
	struct error why;
	int r;

	if (pcce_decode_dictionary_new(flags, &d, &text))
		return cannot_decode(text.text);
	if (add_folders(d, a)) {
		pcce_decode_dictionary_free(d);
		return cannot_decode("out of memory");
	}
	l = context_log_new(d, a->dictionaries, a->n_dictionaries, a->replace, &why);
	r = l ? filter_input(l, a->crash, &why) : -EINVAL;
	context_log_free(l);
	pcce_decode_dictionary_free(d);
	return r ? cannot_decode(why.text) : EXIT_SUCCESS;
}

static int select_contexts(const struct arguments *a)
{
	struct error why;

	if (contexts_select(a->expression, a->files, a->n_files, a->output ? a->output : "pcce.set",
			    &why))
		return cannot_decode(why.text);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.dictionaries = calloc((size_t)argc + 1, sizeof(char *)),
		.folders = calloc((size_t)argc + 1, sizeof(char *)),
		.files = calloc((size_t)argc + 1, sizeof(char *)),
	};
	int status;

	argp_err_exit_status = EXIT_FAILURE;
	if (!a.dictionaries || !a.folders || !a.files)
		return cannot_decode("out of memory");
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	status = a.expression ? select_contexts(&a) : decode_log(&a);
	free(a.dictionaries);
	free(a.folders);
	free(a.files);
	return status;
}

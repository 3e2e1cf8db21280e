/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints the contexts of the threads in core dumps: the command line of pcce-core. lib/contexts
 * does the work. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/message.h"
#include "base/text.h"
#include "contexts/core.h"
#include "contexts/print.h"
#include "contexts/unpack.h"

const char *argp_program_version = "pcce-core (pcce) " PCCE_VERSION;

enum { CORE_GROUP = 'g', CORE_SYMBOLS = 's', CORE_RAW = 'R', CORE_SIMPLE = 'S' };

struct arguments {
	char **files, **folders;
	size_t n_files, n_folders;
	bool group;
	uint64_t flags;
};

static const struct argp_option options[] = {
	{"group", CORE_GROUP, NULL, 0,
	 "Put cores into groups whose first threads have the same context; all arguments are cores",
	 0},
	{"symbols", CORE_SYMBOLS, "DIR", 0,
	 "Look for programs and libraries in DIR first; can be given several times", 0},
	{"raw-names", CORE_RAW, NULL, 0, "Print C++ names as the linker knows them", 0},
	{"simple-names", CORE_SIMPLE, NULL, 0, "Print C++ names without parameters", 0},
	{0},
};

static error_t parse_core_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case CORE_GROUP:
		a->group = true;
		return 0;
	case CORE_SYMBOLS:
		a->folders[a->n_folders++] = arg;
		return 0;
	case CORE_RAW:
		a->flags |= PCCE_DECODE_RAW_NAMES;
		return 0;
	case CORE_SIMPLE:
		a->flags |= PCCE_DECODE_SIMPLE_NAMES;
		return 0;
	case ARGP_KEY_ARG:
		a->files[a->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->n_files)
			message_usage(state, "cannot decode: no core dump is given");
		if (!a->group && a->n_files > 2)
			message_usage(state, "cannot decode more than one core dump: use --group");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_core_option,
	.args_doc = "CORE [PROGRAM]\n--group CORE...",
	.doc = "Print the calling context of each thread in the core dump CORE of a program that "
	       "was "
	       "compiled with pcce. The real stack is not needed: it may be damaged."
	       "\vPROGRAM is the program that ran, if it is not where it was. The exit status is 0 "
	       "if at least one context was decoded, 1 on failures, and 3 otherwise.",
};

/* ---- one core -------------------------------------------------------------------- */

static void print_thread(struct core_contexts *c, const struct core_thread *t, bool first,
			 size_t *decoded)
{
	const struct pcce_decode_context *context;
	struct error why;
	bool jumped;

	printf("thread %" PRIu32, t->tid);
	if (first && t->signal)
		printf(", ended by signal %d (%s)", t->signal, strsignal(t->signal));
	puts(":");
	if (core_contexts_thread(c, t, &context, &jumped, &why)) {
		message("pcce-core", "thread %" PRIu32 " %s", t->tid, why.text);
		puts("    [not decoded]");
		return;
	}
	++*decoded;
	if (jumped)
		printf("    [the program jumped to %#" PRIx64 "; inner frames are missing]\n",
		       t->ip);
	context_print(context, false, stdout);
}

/* A core that is open. */
struct open_core {
	void *data; /* NULL: the file is empty */
	size_t size;
	struct core_file core;
	struct core_contexts *contexts;
};

static void close_core(struct open_core *o)
{
	core_contexts_free(o->contexts);
	core_file_close(&o->core);
	if (o->data)
		munmap(o->data, o->size);
}

/* The file, or its content if it is compressed; or -errno after a message. */
static int open_content(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), content;
	struct error why;

	if (fd < 0) {
		int err = errno;

		message("pcce-core", "cannot read '%s': %s", path, strerror(err));
		return -err;
	}
	content = unpack_open(fd, &why);
	if (content != fd)
		close(fd);
	if (content < 0)
		message("pcce-core", "cannot unpack '%s': %s", path, why.text);
	else if (*why.text)
		message("pcce-core", "cannot unpack all of '%s': %s", path, why.text);
	return content;
}

static int map_core(int fd, struct open_core *o)
{
	struct stat st;
	int err = 0;

	if (fstat(fd, &st)) {
		err = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		err = -EINVAL;
	} else if (st.st_size) {
		o->size = (size_t)st.st_size;
		o->data = mmap(NULL, o->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (o->data == MAP_FAILED) {
			err = -errno;
			o->data = NULL;
		}
	}
	return err;
}

/* 0, or -errno after a message. */
static int open_core(const struct arguments *a, const char *path, const char *program,
		     struct open_core *o)
{
	struct error why;
	int fd = open_content(path), r;

	memset(o, 0, sizeof(*o));
	if (fd < 0)
		return fd;
	r = map_core(fd, o);
	close(fd);
	if (r) {
		message("pcce-core", "cannot read '%s': %s", path, strerror(-r));
		return r;
	}
	r = core_file_open(o->data, o->size, &o->core, &why);
	if (r) {
		message("pcce-core", "cannot decode '%s': it %s", path, why.text);
		close_core(o);
		return r;
	}
	o->contexts =
		core_contexts_new(&o->core, program, a->folders, a->n_folders, a->flags, &why);
	if (!o->contexts) {
		message("pcce-core", "%s", why.text);
		close_core(o);
		return -EINVAL;
	}
	return 0;
}

static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		message("pcce-core", "cannot write to standard output: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return status;
}

static int print_core(const struct arguments *a)
{
	struct open_core o;
	size_t decoded = 0;

	if (open_core(a, a->files[0], a->n_files > 1 ? a->files[1] : NULL, &o))
		return EXIT_FAILURE;
	for (size_t i = 0; i < o.core.n_threads; i++)
		print_thread(o.contexts, &o.core.threads[i], i == 0, &decoded);
	close_core(&o);
	return finish(decoded ? EXIT_SUCCESS : 3);
}

/* ---- many cores ------------------------------------------------------------------ */

struct group {
	char *text; /* the context, innermost frame first */
	int signal;
	const char **files;
	size_t n;
};

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->text, y->text);
}

/* The context of the thread that ended the process, as a text; NULL: there is none. */
static char *first_context(const struct arguments *a, const char *path, int *signal)
{
	const struct pcce_decode_context *context;
	struct open_core o;
	struct error why;
	char *text = NULL;
	size_t size;
	bool jumped;
	FILE *out;

	if (open_core(a, path, NULL, &o))
		return NULL;
	*signal = o.core.threads[0].signal;
	if (core_contexts_thread(o.contexts, &o.core.threads[0], &context, &jumped, &why)) {
		message("pcce-core", "%s: thread %" PRIu32 " %s", path, o.core.threads[0].tid,
			why.text);
	} else {
		out = open_memstream(&text, &size);
		if (out && jumped)
			fputs("    [the program jumped; inner frames are missing]\n", out);
		if (out) {
			context_print(context, false, out);
			fclose(out);
		}
	}
	close_core(&o);
	return text;
}

static int print_groups(const struct arguments *a)
{
	struct group *groups = calloc(a->n_files, sizeof(*groups));
	size_t n = 0, decoded = 0;
	char buffer[4096];

	for (size_t i = 0; groups && i < a->n_files; i++) {
		int signal = 0;
		char *text = first_context(a, a->files[i], &signal);
		struct group *g = groups;

		if (!text)
			continue;
		decoded++;
		while (g < groups + n && (strcmp(g->text, text) != 0 || g->signal != signal))
			g++;
		if (g == groups + n) {
			*g = (struct group){.text = text,
					    .signal = signal,
					    .files = calloc(a->n_files, sizeof(*g->files))};
			n++;
		} else {
			free(text);
		}
		if (!g->files) {
			message("pcce-core", "out of memory");
			return EXIT_FAILURE;
		}
		g->files[g->n++] = a->files[i];
	}
	if (n)
		qsort(groups, n, sizeof(*groups), compare_groups);
	for (size_t i = 0; i < n; i++) {
		printf("%zu %s by signal %d (%s):", groups[i].n,
		       groups[i].n == 1 ? "core" : "cores", groups[i].signal,
		       strsignal(groups[i].signal));
		for (size_t k = 0; k < groups[i].n; k++)
			printf(" %s", text_clean(groups[i].files[k], buffer, sizeof(buffer)));
		printf("\n%s", groups[i].text);
		free(groups[i].text);
		free(groups[i].files);
	}
	free(groups);
	return finish(decoded ? EXIT_SUCCESS : 3);
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.files = calloc((size_t)argc + 1, sizeof(char *)),
		.folders = calloc((size_t)argc + 1, sizeof(char *)),
		.flags = PCCE_DECODE_INLINED,
	};
	int status;

	argp_err_exit_status = EXIT_FAILURE;
	if (!a.files || !a.folders) {
		message("pcce-core", "out of memory");
		return EXIT_FAILURE;
	}
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	status = a.group ? print_groups(&a) : print_core(&a);
	free(a.files);
	free(a.folders);
	return status;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tells what pcce can do with a program: the command line of pcce-check. lib/check reads files,
 * lib/sampler tries the samplers. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/child.h"
#include "base/message.h"
#include "base/text.h"
#include "check/libraries.h"
#include "probe/place.h"
#include "check/trial.h"
#include "sampler/event_list.h"

const char *argp_program_version = "pcce-check " PCCE_VERSION;

enum { CHECK_GOOD = 0, CHECK_FAILED = 1, CHECK_USAGE = 2, CHECK_NOTHING = 3 };

struct arguments {
	const char *what;
	const char *probe; /* a function; NULL: check */
	struct event_list events;
	bool machine, quiet;
};

enum { OPT_MACHINE = 256, OPT_PROBE };

static const struct argp_option options[] = {
	{"event", 'e', "EVENT", 0,
	 "Ask whether the samplers can sample on EVENT (default: cpu-clock)", 0},
	{"machine", OPT_MACHINE, NULL, 0,
	 "Check this machine instead of a program, from the compiler to the report", 0},
	{"probe", OPT_PROBE, "FUNCTION", 0,
	 "Only print where a breakpoint or a probe sees every call of FUNCTION", 0},
	{"quiet", 'q', NULL, 0, "Print only errors; the exit status tells the result", 0},
	{0},
};

static error_t parse_check_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct error why;

	switch (key) {
	case 'e':
		if (event_list_add(&a->events, arg, &why))
			message_usage(state, "%s", why.text);
		return 0;
	case OPT_MACHINE:
		a->machine = true;
		return 0;
	case OPT_PROBE:
		a->probe = arg;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->what)
			message_usage(state, "cannot check more than one program; run the command "
					     "for each of them");
		a->what = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->events.n && event_list_add(&a->events, "cpu-clock", &why))
			message_usage(state, "%s", why.text);
		event_list_set_rates(&a->events, 0, 0);
		if (a->machine && a->what)
			message_usage(state,
				      "cannot check a program together with --machine: leave "
				      "out one of them");
		if (a->machine && a->probe)
			message_usage(state, "cannot find a function with --machine: name a "
					     "program instead");
		if (!a->machine && (!a->what || !*a->what))
			message_usage(state, "cannot check: nothing is given; name a program, a "
					     "library or the number of a process");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_check_option,
	.args_doc = "FILE|PID\n--machine",
	.doc = "Tell whether a program and its libraries are instrumented, which compiler made "
	       "them, "
	       "which samplers can work here, and what stops the others."
	       "\vFILE is a program or a shared library; PID is a running process. Nothing of FILE "
	       "is executed. The exit status is 0 if something is instrumented and a sampler "
	       "works, "
	       "1 if the program cannot be checked, 2 if the command line is wrong, and 3 "
	       "otherwise.",
};

static const char *clean(const char *text)
{
	static char buffer[8192];

	return text_clean(text, buffer, sizeof(buffer));
}

/* ---- files ----------------------------------------------------------------------- */

static void print_state(const struct check_entry *e)
{
	static const char *const states[] = {
		[CHECK_PLAIN] = "not instrumented",
		[CHECK_NOT_ENCODED] = "instrumented, but not encoded: link it with pcce-gcc or "
				      "pcce-g++, or with the flags of pcce-config",
		[CHECK_STRIPPED] = "instrumented and encoded, but its encoding table was stripped: "
				   "strip it with --keep-section=.pcce, or keep its debug file "
				   "beside it",
		[CHECK_HIDDEN] = "instrumented, but its runtime is hidden: let the link export the "
				 "names in libpcce.exports",
		[CHECK_ENCODED] = "instrumented and encoded",
	};

	printf("%s: ", clean(e->name));
	if (!strncmp(text_base(e->name), "libpcce.so.", 11))
		puts("the runtime library of pcce");
	else if (!e->found)
		puts("not found");
	else if (*e->error.text)
		printf("cannot be checked: it %s\n", clean(e->error.text));
	else if (e->file.state == CHECK_UNUSABLE)
		printf("instrumented, but its encoding table %s; run pcce-encode again\n",
		       clean(e->file.unusable.text));
	else
		puts(states[e->file.state]);
}

static void print_details(const struct check_file *f, const char *indent)
{
	if (f->state == CHECK_PLAIN)
		return;
	printf("%scompiler: %s\n", indent, *f->compilers ? clean(f->compilers) : "unknown");
	if (f->sites_version)
		printf("%splugin: site records of version %u\n", indent, f->sites_version);
	if (f->state == CHECK_ENCODED || f->state == CHECK_HIDDEN)
		printf("%sencoding table: version %u, %llu functions, %llu calls\n", indent,
		       f->table_version, (unsigned long long)f->functions,
		       (unsigned long long)f->sites);
	printf("%ssource lines: %s\n", indent,
	       f->lines	 ? "in the file"
	       : f->link ? "in a separate file, which it names"
			 : "not in the file");
}

static void print_files(const struct check_list *l)
{
	const struct check_file *first = &l->all[0].file;

	print_state(&l->all[0]);
	if (first->state == CHECK_PLAIN && *first->compilers)
		printf("  compiler: %s\n", clean(first->compilers));
	print_details(first, "  ");
	puts(l->n > 1 ? "libraries:" : "libraries: none");
	for (size_t i = 1; i < l->n; i++) {
		printf("  ");
		print_state(&l->all[i]);
		print_details(&l->all[i].file, "    ");
	}
}

static bool is_any(const struct check_list *l, enum check_state state)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->all[i].file.state == state)
			return true;
	return false;
}

/* Does anything have contexts? Libraries have none in a program that hides its runtime. */
static bool has_contexts(const struct check_list *l)
{
	return l->all[0].file.state != CHECK_HIDDEN && is_any(l, CHECK_ENCODED);
}

/* ---- samplers -------------------------------------------------------------------- */

/* Returns why the sampler would take no samples of this program; NULL: it would. l: NULL: of any
 * program. */
static const char *stops_sampler(const struct sampler_ops *ops, const struct check_list *l,
				 struct error *why)
{
	if (!l || ops != &sampler_self)
		return NULL;
	if (l->all[0].file.privilege) {
		error_set(why, 0, "it cannot sample a program that %s; use -b bpf as root",
			  l->all[0].file.privilege);
		return why->text;
	}
	if (!is_any(l, CHECK_ENCODED) && !is_any(l, CHECK_HIDDEN)) {
		error_set(why, 0,
			  "it is part of instrumented programs and libraries, and there is "
			  "none here");
		return why->text;
	}
	return NULL;
}

/* Tries all samplers. l: NULL: for any program. Returns the number that work. */
static int try_samplers(const struct arguments *a, const struct check_list *l, pid_t pid)
{
	const struct sampler_config config = {
		.events = a->events.of,
		.n_events = a->events.n,
		.targets = &pid,
		.n_targets = pid ? 1 : 0,
		.program = pid || !l ? NULL : l->all[0].name,
	};
	int good = 0;

	if (!a->quiet)
		puts("samplers:");
	for (size_t i = 0; samplers[i]; i++) {
		struct error why = {0};
		const char *reason = samplers[i]->probe(&config, &why)
					     ? why.text
					     : stops_sampler(samplers[i], l, &why);

		good += !reason;
		if (!a->quiet)
			printf("  %s: %s%s\n", samplers[i]->name,
			       reason ? "cannot be used: " : "can be used",
			       reason ? clean(reason) : "");
	}
	return good;
}

/* ---- the machine ----------------------------------------------------------------- */

/* Prints which events the best sampler can record. */
static void try_events(void)
{
	static const char *const names[] = {"cpu-clock", "off-cpu", "page-faults", "cycles",
					    "sched:sched_switch"};

	puts("events:");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sampler_event event = {.period = 1000000};
		const struct sampler_config config = {.events = &event, .n_events = 1};
		struct error why = {0}, best = {0};
		const char *by = NULL;

		snprintf(event.name, sizeof(event.name), "%s", names[i]);
		for (size_t k = 0; samplers[k] && !by; k++) {
			if (!samplers[k]->probe(&config, &why))
				by = samplers[k]->name;
			else if (samplers[k] == &sampler_bpf)
				best = why;
		}
		printf("  %s: %s%s\n", names[i],
		       by ? "can be recorded with " : "cannot be recorded: ",
		       by ? by : clean(best.text));
	}
}

static int check_machine(const struct arguments *a)
{
	struct trial t;
	bool good;

	trial_run(&t);
	good = t.samples && t.exact == t.samples;
	if (!a->quiet)
		printf("compiler: %s\n", *t.compiler ? clean(t.compiler) : "cannot be run");
	if (*t.build.text)
		printf("  cannot build a program: %s\n", clean(t.build.text));
	if (try_samplers(a, NULL, 0) && !a->quiet)
		try_events();
	if (*t.record.text)
		printf("trial: cannot record a program: %s\n", clean(t.record.text));
	else if (!*t.build.text && !(a->quiet && good))
		printf("trial: a program was built and recorded; %llu of %llu samples are exact\n",
		       t.exact, t.samples);
	return good ? CHECK_GOOD : CHECK_NOTHING;
}

/* ---- probes ---------------------------------------------------------------------- */

static void print_probe(void *ctx, const struct probe_place *p)
{
	(void)ctx;
	printf("%s:", clean(p->path));
	printf("%s", clean(p->symbol));
	if (p->offset)
		printf("+%u 0x%llx", p->offset, (unsigned long long)p->address);
	putchar('\n');
}

static int print_places(const struct check_list *l, const char *function)
{
	struct error why = {0};
	int total = 0, status = CHECK_GOOD;

	for (size_t i = 0; i < l->n; i++) {
		const struct check_entry *e = &l->all[i];
		int n = e->found && !*e->error.text
				? probe_find(e->name, function, print_probe, NULL, &why)
				: 0;

		if (n < 0) {
			message("pcce-check", "cannot look for %s in %s: it %s", function, e->name,
				why.text);
			status = CHECK_FAILED;
		} else {
			total += n;
		}
	}
	if (total || status)
		return status;
	message("pcce-check",
		"cannot find %s: neither %s nor its libraries have a function of this name; name "
		"it as pcce-report or nm do, or it was inlined everywhere",
		function, l->all[0].name);
	return CHECK_FAILED;
}

/* ---- all together ---------------------------------------------------------------- */

static pid_t parse_pid(const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	return *text < '0' || *text > '9' || *end || errno || pid <= 0 || pid > INT_MAX
		       ? 0
		       : (pid_t)pid;
}

/* A name without a slash is that of a file here, or else of a command. */
static int list_files(const char *name, struct check_list *l, struct error *why)
{
	char *path = NULL;
	int err, r;

	if (!strchr(name, '/') && access(name, F_OK))
		path = child_find(name, &err);
	r = check_libraries_of_file(path ? path : name, l, why);
	free(path);
	return r;
}

static int end_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	message("pcce-check", "cannot write to standard output: %s", strerror(errno));
	return -1;
}

int main(int argc, char **argv)
{
	struct arguments a = {0};
	struct check_list list;
	struct error why;
	int status = CHECK_NOTHING, good;
	pid_t pid;

	argp_err_exit_status = CHECK_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return CHECK_USAGE;
	if (a.machine) {
		status = check_machine(&a);
		return end_output() ? CHECK_FAILED : status;
	}
	pid = parse_pid(a.what);
	if (pid ? check_libraries_of_process(pid, &list, &why) : list_files(a.what, &list, &why)) {
		message("pcce-check", "%s", why.text);
		check_list_free(&list);
		return CHECK_FAILED;
	}
	if (a.probe) {
		status = print_places(&list, a.probe);
		check_list_free(&list);
		return end_output() ? CHECK_FAILED : status;
	}
	if (!a.quiet)
		print_files(&list);
	good = try_samplers(&a, &list, pid);
	if (good && has_contexts(&list))
		status = CHECK_GOOD;
	check_list_free(&list);
	return end_output() ? CHECK_FAILED : status;
}

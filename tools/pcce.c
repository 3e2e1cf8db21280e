/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs the commands of pcce by one name: `pcce record ...` becomes pcce-record in the folder of
 * this program. argv[0] is then "pcce record", by which the command calls itself in its help and
 * its messages. The table of this file lists all commands: help and completions come from it.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/help_list.h"
#include "base/message.h"
#include "base/neighbour.h"
#include "base/similar.h"

const char *argp_program_version = "pcce " PCCE_VERSION;

enum { PCCE_FAILED = 1, PCCE_USAGE = 2 };

static const struct command {
	const char *name, *what;
	const char *program, *option; /* NULL: pcce-NAME, and no option before those of the user */
} commands[] = {
	{"config", "Print the flags that build a program with pcce", NULL, NULL},
	{"check", "Tell whether a program is instrumented, and which samplers work", NULL, NULL},
	{"doctor", "Tell what works on this machine, and what mends the rest", "pcce-check",
	 "--machine"},
	{"run", "Record a program, and show the result", "pcce-record", "--show"},
	{"record", "Record a program or a running process", NULL, NULL},
	{"top", "Show what runs now, in a terminal view", NULL, NULL},
	{"report", "Show a recording: a terminal view, text, a page, other formats", NULL, NULL},
	{"diff", "Compare two recordings", NULL, NULL},
	{"merge", "Join recordings", NULL, NULL},
	{"push", "Add recordings to a store, as of many machines", NULL, NULL},
	{"pull", "Make a recording of what a store has", NULL, NULL},
	{"core", "Print the contexts in a core dump", NULL, NULL},
	{"decode", "Print the contexts that a log names", NULL, NULL},
	{"encode", "Encode a program or a library that was linked without it", NULL, NULL},
	{"compare", "Measure how accurate a calling context tree is", NULL, NULL},
	{"help", "Print this list, or the help of a command", NULL, NULL},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char first_steps[] =
	"pcce shows where a program spends its time, by its exact calling contexts.\n"
	"\n"
	"  Build your program with pcce, from scratch:\n"
	"    make CC=pcce-gcc CXX=pcce-g++\n"
	"  Check whether it is instrumented, and how it can be sampled here:\n"
	"    pcce check ./program\n"
	"  Record it, and look at the result:\n"
	"    pcce run ./program ARGUMENTS\n"
	"  Look again, or make a page for a browser:\n"
	"    pcce report\n"
	"    pcce report --format=html -o page.html\n"
	"  Change the program, run it again, and compare:\n"
	"    pcce diff pcce.data.old pcce.data\n"
	"\n"
	"pcce help lists all commands. pcce help COMMAND explains one of them.\n";

static void print_commands(FILE *out)
{
	fputs("Commands:\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-7s  %s\n", commands[i].name, commands[i].what);
}

static char *filter_command_help(int key, const char *text, void *input)
{
	(void)input;
	return help_list(key, text, print_commands);
}

static error_t parse_command(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	*(char ***)state->input = state->argv + state->next;
	return 0;
}

static const struct argp argp = {
	.parser = parse_command,
	.args_doc = "[COMMAND [ARGUMENT...]]",
	.doc = "Tell where programs spend their time, by their calling contexts.\v"
	       "Without a command, pcce prints the first steps. pcce COMMAND --help and pcce help "
	       "COMMAND describe a command, and man pcce-COMMAND tells all. Every command except "
	       "run and help can also be called as pcce-COMMAND.",
	.help_filter = filter_command_help,
};

/* Returns the command of this name. Ends the program if there is none. */
static const struct command *find_command(const char *name)
{
	char near[128] = "";

	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(name, commands[i].name))
			return &commands[i];
		similar_add(near, sizeof(near), name, commands[i].name);
	}
	message("pcce", "cannot run '%s': there is no such command; %s%s%spcce help lists all",
		name, *near ? "did you mean " : "", near, *near ? "? " : "");
	exit(PCCE_USAGE);
}

/* Becomes the command. Returns the exit status if that failed. */
static int run_command(const struct command *c, char **arguments)
{
	size_t n = 0, at = 0;
	char name[32], program[32], **argv;

	while (arguments[n])
		n++;
	argv = calloc(n + 3, sizeof(*argv));
	if (!argv) {
		message("pcce", "out of memory");
		return PCCE_FAILED;
	}
	snprintf(name, sizeof(name), "pcce %s", c->name);
	snprintf(program, sizeof(program), "pcce-%s", c->name);
	argv[at++] = name;
	if (c->option)
		argv[at++] = (char *)c->option;
	memcpy(argv + at, arguments, n * sizeof(*argv));
	neighbour_exec(c->program ? c->program : program, argv);
	free(argv);
	return PCCE_FAILED;
}

static int print_help(const char *name)
{
	char *help[] = {"--help", NULL};
	const struct command *c = name ? find_command(name) : NULL;

	if (c && strcmp(c->name, "help") != 0)
		return run_command(c, help);
	argp_parse(&argp, 2, (char *[]){"pcce", "--help", NULL}, 0, NULL, NULL);
	return 0;
}

/* Returns the exit status, after a look whether all was printed. */
static int printed(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	message("pcce", "cannot write to standard output: %s", strerror(errno));
	return PCCE_FAILED;
}

int main(int argc, char **argv)
{
	const struct command *c;
	char **command = NULL;

	argp_err_exit_status = PCCE_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command))
		return PCCE_USAGE;
	if (!command) {
		fputs(first_steps, stdout);
		return printed(0);
	}
	c = find_command(command[0]);
	if (strcmp(c->name, "help") != 0)
		return run_command(c, command + 1);
	if (command[1] && command[2]) {
		message("pcce", "cannot explain more than one command; name one of them");
		return PCCE_USAGE;
	}
	return printed(print_help(command[1]));
}

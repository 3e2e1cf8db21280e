/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * measure BLOCKS OWN-FILE <COMMANDS
 *
 * Measures the CPU time (user and system) of commands that do the same work, in mirrored blocks.
 *
 * Each input line has a column, a layout (1 to N) and a command for sh, separated by tabs.  Each
 * column has a command for each layout.  Layouts are the same program with its functions in
 * different orders.
 *
 * A block uses one layout, the next block the next layout.  A block runs all columns in random
 * order, then once more in reverse order.  A drift of the machine that is linear within a block
 * therefore affects all columns alike.  Each run has an environment of another size, which moves
 * the stack.
 *
 * Prints a line of comma-separated values for each block and column: column, layout, block, CPU
 * seconds of the program alone, CPU seconds of all processes.  `own` writes the former to OWN-FILE.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_COMMANDS 1024
#define MAX_COLUMNS 64
#define PAD 4096

struct command {
	char *column, *text;
	int layout;
};

struct times {
	double own, all;
};

static struct command commands[MAX_COMMANDS];
static int n_commands, n_layouts;
static const char *columns[MAX_COLUMNS];
static int n_columns;
static FILE *output; /* not /dev/null: grep and tar detect that and do less work */

static void fail_measure(const char *what, const char *object, const char *reason)
{
	fprintf(stderr, "measure: cannot %s '%s': %s\n", what, object, reason);
	exit(1);
}

static void add_command(char *line)
{
	struct command *c = &commands[n_commands];
	char *layout, *text;
	int i;

	line[strcspn(line, "\n")] = '\0';
	layout = strchr(line, '\t');
	text = layout ? strchr(layout + 1, '\t') : NULL;
	if (!text)
		fail_measure("read line", line,
			     "it must be COLUMN, LAYOUT and COMMAND with tabs between");
	if (n_commands == MAX_COMMANDS)
		fail_measure("add command", line, "there are too many commands");
	*layout = *text = '\0';
	*c = (struct command){
		.column = strdup(line), .text = strdup(text + 1), .layout = atoi(layout + 1)};
	n_commands++;
	if (c->layout > n_layouts)
		n_layouts = c->layout;
	for (i = 0; i < n_columns && strcmp(columns[i], c->column); i++)
		;
	if (i == MAX_COLUMNS)
		fail_measure("add column", c->column, "there are too many columns");
	if (i == n_columns)
		columns[n_columns++] = c->column;
}

static const struct command *find_command(const char *column, int layout)
{
	for (int i = 0; i < n_commands; i++)
		if (commands[i].layout == layout && !strcmp(commands[i].column, column))
			return &commands[i];
	fail_measure("measure column", column, "it lacks a command for a layout");
	return NULL;
}

/* Returns the sum of the times that `own` wrote, or otherwise if it wrote none. */
static double read_own(const char *path, double otherwise)
{
	FILE *f = fopen(path, "r");
	double sum = 0, one;
	int n = 0;

	for (; f && fscanf(f, "%lf", &one) == 1; n++)
		sum += one;
	if (f)
		fclose(f);
	return n ? sum : otherwise;
}

static struct times run_command(const char *command, const char *own_file)
{
	static char pad[PAD + 1];
	struct rusage usage;
	struct times t;
	int status;
	pid_t pid;

	unlink(own_file);
	rewind(output);
	if (ftruncate(fileno(output), 0))
		exit(1);
	memset(pad, 'x', PAD);
	pad[random() % PAD] = '\0';
	setenv("BENCH_PAD", pad, 1);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(output), STDOUT_FILENO);
		dup2(fileno(output), STDERR_FILENO);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
		char tail[4096];
		size_t n;

		rewind(output);
		n = fread(tail, 1, sizeof(tail) - 1, output);
		tail[n] = '\0';
		fprintf(stderr, "%s\n", tail);
		fail_measure("measure command", command, "it failed; its last output is above");
	}
	t.all = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	t.own = read_own(own_file, t.all);
	return t;
}

static void run_block(int block, const char *own_file)
{
	int order[MAX_COLUMNS], layout = 1 + block % n_layouts;
	struct times sum[MAX_COLUMNS] = {};

	for (int i = 0; i < n_columns; i++) {
		int j = (int)(random() % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < 2 * n_columns; i++) {
		int column = order[i < n_columns ? i : 2 * n_columns - 1 - i];
		struct times t = run_command(find_command(columns[column], layout)->text, own_file);

		sum[column].own += t.own;
		sum[column].all += t.all;
	}
	for (int i = 0; i < n_columns; i++)
		printf("%s,%d,%d,%.4f,%.4f\n", columns[i], layout, block, sum[i].own / 2,
		       sum[i].all / 2);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int blocks = argc == 3 ? atoi(argv[1]) : 0;
	char *line = NULL;
	size_t size = 0;

	if (blocks < 1) {
		fprintf(stderr, "usage: measure BLOCKS OWN-FILE <COMMANDS\n");
		return 2;
	}
	while (getline(&line, &size, stdin) > 0)
		add_command(line);
	free(line);
	output = tmpfile();
	if (!output) {
		perror("measure: cannot create a temporary file");
		return 1;
	}
	if (!n_commands) {
		fprintf(stderr, "measure: cannot measure: standard input has no commands\n");
		return 1;
	}
	srandom(1);
	run_command(commands[0].text, argv[2]); /* warms up caches and frequency */
	for (int i = 0; i < blocks; i++)
		run_block(i, argv[2]);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * measure BLOCKS OWN-FILE <COMMANDS: CPU time of several commands that do the same work, measured
 * so that they can be compared.
 *
 * A command is a line: column, layout (1 to N), and the command for sh, with tabs between; each
 * column has a command for each layout.  Layouts are the same program with its functions in other
 * orders.  One block takes one layout, the next one the next, and runs all columns in random order
 * and then once more in the reverse order: a drift of the machine that is linear within a block is
 * in all of them alike.  Each run has an environment of another size, which moves the stack.
 *
 * Prints for each block and column a line of comma-separated values: column, layout, block, CPU
 * seconds of the program itself (what `own` has written to OWN-FILE), CPU seconds of all.  CPU time
 * is user and system.
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

struct child {
	char *column, *text;
	int layout;
};

struct times {
	double own, all;
};

static struct child commands[MAX_COMMANDS];
static int n_commands, n_layouts;
static const char *columns[MAX_COLUMNS];
static int n_columns;
static FILE *output; /* not /dev/null: grep and tar look for that, and do less */

static void fail(const char *what, const char *text)
{
	fprintf(stderr, "measure: %s: %s\n", what, text);
	exit(1);
}

static void add_command(char *line)
{
	struct child *c = &commands[n_commands];
	char *layout, *text;
	int i;

	line[strcspn(line, "\n")] = '\0';
	layout = strchr(line, '\t');
	text = layout ? strchr(layout + 1, '\t') : NULL;
	if (!text || n_commands == MAX_COMMANDS)
		fail("a line is no command, or one too many", line);
	*layout = *text = '\0';
	*c = (struct child){
		.column = strdup(line), .text = strdup(text + 1), .layout = atoi(layout + 1)};
	n_commands++;
	if (c->layout > n_layouts)
		n_layouts = c->layout;
	for (i = 0; i < n_columns && strcmp(columns[i], c->column); i++)
		;
	if (i == MAX_COLUMNS)
		fail("too many columns", c->column);
	if (i == n_columns)
		columns[n_columns++] = c->column;
}

static const struct child *find(const char *column, int layout)
{
	for (int i = 0; i < n_commands; i++)
		if (commands[i].layout == layout && !strcmp(commands[i].column, column))
			return &commands[i];
	fail("a layout is missing", column);
	return NULL;
}

/* What `own` wrote; a command without it has only the other time. */
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

static struct times run(const char *command, const char *own_file)
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
		fail("failed", command);
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
		struct times t = run(find(columns[column], layout)->text, own_file);

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
	if (!output || !n_commands)
		return 1;
	srandom(1);
	run(commands[0].text, argv[2]); /* caches and frequency warm up */
	for (int i = 0; i < blocks; i++)
		run_block(i, argv[2]);
	return 0;
}

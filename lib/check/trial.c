/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See trial.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/neighbour.h"
#include "check/trial.h"

static const char program[] = "static volatile unsigned long sum;\n"
			      "__attribute__((noinline)) static void inner(unsigned long n)\n"
			      "{ for (unsigned long i = 0; i < n; i++) sum += i; }\n"
			      "__attribute__((noinline)) static void outer(void)\n"
			      "{ for (int i = 0; i < 300; i++) inner(1000000); }\n"
			      "int main(void) { outer(); return 0; }\n";

struct folder {
	char path[PATH_MAX];
};

static void trial_file(const struct folder *f, const char *name, char *path)
{
	snprintf(path, PATH_MAX + 16, "%s/%s", f->path, name);
}

/* Runs a command of pcce in the folder, with its output in the file `log`. Returns whether it
 * succeeded. */
static bool run(const struct folder *f, char **argv)
{
	pid_t pid = fork();
	int status, log;

	if (!pid) {
		log = chdir(f->path) ? -1 : open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (log >= 0 && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0)
			neighbour_exec(argv[0], argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Sets text to the first line of the log, or to its last one. */
static void read_line(const struct folder *f, bool last, char *text, size_t size)
{
	char path[PATH_MAX + 16], line[1024];
	FILE *log;

	*text = 0;
	trial_file(f, "log", path);
	log = fopen(path, "re");
	while (log && fgets(line, sizeof(line), log)) {
		line[strcspn(line, "\n")] = 0;
		snprintf(text, size, "%s", line);
		if (!last)
			break;
	}
	if (log)
		fclose(log);
}

/* Says why the last command failed, with a line of the log. A program that was killed says
 * nothing. */
static void explain(const struct folder *f, bool last, struct error *why)
{
	read_line(f, last, why->text, sizeof(why->text));
	if (!*why->text)
		error_set(why, -EIO, "it ended without a message");
}

static bool write_program(const struct folder *f)
{
	char path[PATH_MAX + 16];
	bool good;
	FILE *out;

	trial_file(f, "program.c", path);
	out = fopen(path, "we");
	good = out && fputs(program, out) >= 0;
	return out && !fclose(out) && good;
}

static bool build(const struct folder *f, struct trial *t)
{
	char *version[] = {"pcce-gcc", "--version", NULL},
	     *compile[] = {"pcce-gcc", "-O1", "-g", "program.c", "-o", "program", NULL};

	if (!write_program(f)) {
		error_set(&t->build, -errno, "cannot write to %s: %s", f->path, strerror(errno));
		return false;
	}
	if (!run(f, version)) {
		explain(f, true, &t->build);
		return false;
	}
	read_line(f, false, t->compiler, sizeof(t->compiler));
	if (run(f, compile))
		return true;
	/* Compilers begin with the cause. */
	explain(f, false, &t->build);
	return false;
}

static void record(const struct folder *f, struct trial *t)
{
	char *record[] = {"pcce-record", "-q", "-o", "data", "./program", NULL},
	     *report[] = {"pcce-report", "-q", "-i", "data", "--stats", NULL}, path[PATH_MAX + 16],
	     line[256];
	unsigned long long outside = 0;
	FILE *log;

	if (!run(f, record) || !run(f, report)) {
		explain(f, true, &t->record);
		return;
	}
	trial_file(f, "log", path);
	log = fopen(path, "re");
	while (log && fgets(line, sizeof(line), log)) {
		sscanf(line, "samples: %llu", &t->samples);
		sscanf(line, "exact: %llu", &t->exact);
		sscanf(line, "outside: %llu", &outside);
	}
	if (log)
		fclose(log);
	t->samples -= outside;
}

static void remove_folder(const struct folder *f)
{
	static const char *const names[] = {"program.c", "program", "data", "data.old", "log"};
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		trial_file(f, names[i], path);
		unlink(path);
	}
	rmdir(f->path);
}

void trial_run(struct trial *t)
{
	const char *temporary = getenv("TMPDIR");
	struct folder f;

	*t = (struct trial){0};
	snprintf(f.path, sizeof(f.path), "%s/pcce-doctor.XXXXXX",
		 temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(f.path)) {
		error_set(&t->build, -errno,
			  "cannot make a folder like %s: %s; name another place with TMPDIR",
			  f.path, strerror(errno));
		return;
	}
	if (build(&f, t))
		record(&f, t);
	remove_folder(&f);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See next_program.h. The variable has " DEVICE:INODE " of each program. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/next_program.h"

bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void write_identity(char *to, size_t size, const struct stat *file)
{
	snprintf(to, size, " %ju:%ju ", (uintmax_t)file->st_dev, (uintmax_t)file->st_ino);
}

static bool is_waiting(const char *variable, const struct stat *file)
{
	const char *waiting = getenv(variable);
	char name[64];

	write_identity(name, sizeof(name), file);
	return waiting && strstr(waiting, name);
}

int next_program_wait(const char *variable, const struct stat *program)
{
	const char *waiting = getenv(variable);
	char name[64], *more;
	int failed;

	write_identity(name, sizeof(name), program);
	if (asprintf(&more, "%s%s", waiting ? waiting : "", name) < 0)
		return -ENOMEM;
	failed = setenv(variable, more, 1);
	free(more);
	return failed ? -ENOMEM : 0;
}

char *next_program_find(const char *variable, const char *path, const char *name)
{
	while (path && *path) {
		size_t length = strcspn(path, ":");
		struct stat st;
		char *candidate;

		/* An empty entry means the working directory. */
		if (asprintf(&candidate, "%.*s/%s", length ? (int)length : 1, length ? path : ".",
			     name) < 0)
			return NULL;
		if (!stat(candidate, &st) && S_ISREG(st.st_mode) && !is_waiting(variable, &st) &&
		    !access(candidate, X_OK))
			return candidate;
		free(candidate);
		path += length;
		path += *path == ':';
	}
	return NULL;
}

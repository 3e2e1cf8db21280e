/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See output_file.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"

int output_file_create(struct output_file *o, const char *path)
{
	struct stat st;
	bool link = !lstat(path, &st) && S_ISLNK(st.st_mode);

	o->path = path;
	o->part = NULL;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return o->fd < 0 ? -errno : 0;
	}
	/* A symbolic link is followed, not replaced: it may be /dev/stdout. */
	if (link) {
		o->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		return o->fd < 0 ? -errno : 0;
	}
	if (asprintf(&o->part, "%s.part", path) < 0) {
		o->part = NULL;
		return -ENOMEM;
	}
	/* Only the owner may read it, as with perf: a recording tells what ran. */
	o->fd = open(o->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (o->fd < 0) {
		int err = -errno;

		free(o->part);
		o->part = NULL;
		return err;
	}
	return 0;
}

int output_file_commit(struct output_file *o)
{
	int err = 0;
	char *old;

	if (!o->part)
		return 0;
	if (asprintf(&old, "%s.old", o->path) < 0)
		return -ENOMEM;
	if (rename(o->path, old) && errno != ENOENT)
		err = -errno;
	free(old);
	if (!err && rename(o->part, o->path))
		err = -errno;
	if (!err) {
		free(o->part);
		o->part = NULL;
	}
	return err;
}

void output_file_discard(struct output_file *o)
{
	if (o->part)
		unlink(o->part);
	free(o->part);
	o->part = NULL;
}

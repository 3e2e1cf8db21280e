/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Creates, locks and removes the private directory. A directory whose lock is free is abandoned, or
 * so new that its maker does not have the lock yet. That maker then finds the lock taken, and makes
 * another directory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/selfring.h>
#include "sampler/self_directory.h"

#define PREFIX "pcce-self-"
#define TRIES 10

/* Opens and locks the file PCCE_SELF_OWNER of a directory. Returns the descriptor, or -1. */
static int take_lock(int dir, int flags)
{
	int fd = openat(dir, PCCE_SELF_OWNER,
			flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Removes all files of a directory. The lock file is last, so that after a failure the rest is
 * found again. */
static void remove_files(int dir)
{
	DIR *d = fdopendir(dup(dir));
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, PCCE_SELF_OWNER) != 0)
			unlinkat(dir, entry->d_name, 0);
	if (d)
		closedir(d);
	unlinkat(dir, PCCE_SELF_OWNER, 0);
}

static void remove_abandoned(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		struct stat st;
		int dir, owner;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		dir = openat(dirfd(d), entry->d_name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0)
			continue;
		errno = 0;
		owner = fstat(dir, &st) == 0 && st.st_uid == geteuid() ? take_lock(dir, 0) : -1;
		if (owner < 0 && errno == ENOENT) /* its maker was killed before it made the file,
						     so it is empty */
			unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
		if (owner >= 0) {
			remove_files(dir);
			unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
			close(owner);
		}
		close(dir);
	}
	if (d)
		closedir(d);
}

static bool make_directory_in(struct self_directory *d, const char *parent)
{
	int n = snprintf(d->path, sizeof(d->path), "%s/" PREFIX "XXXXXX", parent), dir;

	if (n < 0 || (size_t)n >= sizeof(d->path) || !mkdtemp(d->path))
		return false;
	dir = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d->owner = dir < 0 ? -1 : take_lock(dir, O_CREAT | O_EXCL);
	if (dir >= 0)
		close(dir);
	if (d->owner < 0) {
		int err = errno;

		rmdir(d->path);
		errno = err;
	}
	return d->owner >= 0;
}

int self_directory_make(struct self_directory *d)
{
	const char *tmpdir = getenv("TMPDIR");
	/* Prefer memory: the kernel would often write rings on a disk back. */
	const char *parents[] = {"/dev/shm", tmpdir && tmpdir[0] == '/' ? tmpdir : "/tmp", "/tmp"};
	size_t n = sizeof(parents) / sizeof(parents[0]);

	for (size_t i = 0; i < n; i++)
		remove_abandoned(parents[i]);
	for (size_t i = 0; i < n; i++)
		for (int tries = 0; tries < TRIES; tries++) {
			if (make_directory_in(d, parents[i]))
				return 0;
			if (errno != EWOULDBLOCK && errno != ENOENT)
				break;
		}
	d->path[0] = 0;
	return -errno;
}

void self_directory_remove(struct self_directory *d)
{
	int dir;

	if (!d->path[0])
		return;
	dir = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0) {
		remove_files(dir);
		close(dir);
	}
	rmdir(d->path);
	close(d->owner);
	d->path[0] = 0;
}

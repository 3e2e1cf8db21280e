/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Creates, locks and removes the private directory. A directory whose lock is free is abandoned, or
 * so new that its maker does not have the lock yet. That maker then finds the lock taken, and makes
 * another directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/selfring.h>
#include "sampler/self_directory.h"

#define PREFIX "pcce-self-"
#define TRIES 10
#define DEPTH_MAX 16

/* Opens and locks the file PCCE_SELF_OWNER of a directory. Returns the descriptor, or -1. Others
 * may read it, to ask for the lock. */
static int take_lock(int dir, int flags)
{
	int fd = openat(dir, PCCE_SELF_OWNER,
			flags | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);

	if (fd >= 0 && (((flags & O_CREAT) && fchmod(fd, 0644)) || flock(fd, LOCK_EX | LOCK_NB))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Removes a file, or a directory with what is in it. Other users can write there: no link is
 * followed, and what is nested deeper than anyone needs stays. */
static void remove_entry(int dir, const char *name, int depth)
{
	struct dirent *entry;
	int fd;
	DIR *d;

	if (unlinkat(dir, name, 0) == 0 || depth == DEPTH_MAX)
		return;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	while (d && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_entry(fd, entry->d_name, depth + 1);
	if (d)
		closedir(d);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* Removes all that is in a directory. The lock file is last, so that after a failure the rest is
 * found again. */
static void remove_files(int dir)
{
	DIR *d = fdopendir(dup(dir));
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, PCCE_SELF_OWNER) != 0)
			remove_entry(dir, entry->d_name, 0);
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

/* Makes the folder for the rings. The processes look for the lock file there, under its second
 * name. */
static bool make_rings(struct self_directory *d, int dir)
{
	bool shared = geteuid() == 0;
	uint64_t random[2];
	char name[64], link[128];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return false;
	snprintf(name, sizeof(name), "rings-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	snprintf(link, sizeof(link), "%s/%s", name, PCCE_SELF_OWNER);
	if ((size_t)snprintf(d->rings, sizeof(d->rings), "%s/%s", d->path, name) >=
		    sizeof(d->rings) ||
	    mkdirat(dir, name, 0700) || linkat(dir, PCCE_SELF_OWNER, dir, link, 0))
		return false;
	/* mkdir's mode is subject to the umask. */
	return !shared || (chmod(d->rings, 01733) == 0 && fchmod(dir, 0711) == 0);
}

static bool make_directory_in(struct self_directory *d, const char *parent)
{
	int n = snprintf(d->path, sizeof(d->path), "%s/" PREFIX "XXXXXX", parent), dir, err;

	if (n < 0 || (size_t)n >= sizeof(d->path) || !mkdtemp(d->path))
		return false;
	dir = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d->owner = dir < 0 ? -1 : take_lock(dir, O_CREAT | O_EXCL);
	if (d->owner >= 0 && !make_rings(d, dir)) {
		err = errno;
		remove_files(dir);
		close(d->owner);
		d->owner = -1;
		errno = err;
	}
	err = errno;
	if (dir >= 0)
		close(dir);
	if (d->owner < 0)
		rmdir(d->path);
	errno = err;
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

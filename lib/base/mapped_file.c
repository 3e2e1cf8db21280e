/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opens mapped files by /proc/PID/map_files, then by /proc/PID/root, then by name. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mapped_file.h"

/* Opens a regular file, and nothing else: whoever names a device could have it act. */
static int open_regular(const char *name)
{
	char again[64];
	struct stat st;
	int at = open(name, O_PATH | O_CLOEXEC), fd = -1, err;

	if (at < 0)
		return -1;
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		/* Without /proc, a regular file a moment ago must do. */
		if (fd < 0 && errno == ENOENT)
			fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	} else {
		errno = EACCES;
	}
	err = errno;
	close(at);
	errno = err;
	return fd;
}

/* Compares the last components of two paths, without what the kernel adds if a name is gone. */
static bool same_last_names(const char *a, const char *b)
{
	static const char gone[] = " (deleted)";
	const char *names[2] = {strrchr(a, '/'), strrchr(b, '/')};
	size_t n[2];

	for (int i = 0; i < 2; i++) {
		n[i] = names[i] ? strlen(names[i]) : 0;
		if (n[i] >= sizeof(gone) && !strcmp(names[i] + n[i] - sizeof(gone) + 1, gone))
			n[i] -= sizeof(gone) - 1;
	}
	return n[0] && n[0] == n[1] && !memcmp(names[0], names[1], n[0]);
}

/* Whether an open file can be the one that had this path when it was mapped. In another root, a
 * path can only have another beginning. */
static bool can_be(int fd, const char *path)
{
	char link[64], name[PATH_MAX + 64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	if (n <= 0 || path[0] != '/')
		return true;
	name[n] = 0;
	return same_last_names(name, path);
}

/* Opens a file by its name, if it has this number or the number is not known. */
static int open_numbered(const char *name, uint64_t ino)
{
	int fd = open_regular(name);
	struct stat st;

	if (fd < 0 || !ino || (!fstat(fd, &st) && st.st_ino == ino))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

int mapped_file_open(pid_t pid, uint64_t start, uint64_t length, const char *path, uint64_t ino)
{
	char name[PATH_MAX + 64];
	int fd;

	if (pid > 0 && length) {
		snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			 start, start + length);
		fd = open_regular(name);
		if (fd >= 0 && can_be(fd, path))
			return fd;
		if (fd >= 0) /* another file has taken its place */
			close(fd);
	}
	if (path[0] != '/')
		return -ENOENT;
	if (pid > 0) {
		snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
		fd = open_numbered(name, ino);
		if (fd >= 0)
			return fd;
	}
	fd = open_numbered(path, ino);
	return fd < 0 ? -errno : fd;
}

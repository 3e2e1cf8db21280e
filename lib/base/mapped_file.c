/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opens mapped files by /proc/PID/map_files, then by /proc/PID/root, then by name. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
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

int mapped_file_open(pid_t pid, uint64_t start, uint64_t length, const char *path)
{
	char name[PATH_MAX + 64];
	int fd;

	if (pid > 0 && length) {
		snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			 start, start + length);
		fd = open_regular(name);
		if (fd >= 0)
			return fd;
	}
	if (path[0] != '/')
		return -ENOENT;
	if (pid > 0) {
		snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
		fd = open_regular(name);
		if (fd >= 0)
			return fd;
	}
	fd = open_regular(path);
	return fd < 0 ? -errno : fd;
}

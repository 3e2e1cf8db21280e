/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opens mapped files by /proc/PID/map_files, then by /proc/PID/root, then by name. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include "base/mapped_file.h"

int mapped_file_open(pid_t pid, uint64_t start, uint64_t length, const char *path)
{
	char name[PATH_MAX + 64];
	int fd;

	if (pid > 0 && length) {
		snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			 start, start + length);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	if (path[0] != '/')
		return -ENOENT;
	if (pid > 0) {
		snprintf(name, sizeof(name), "/proc/%d/root%s", (int)pid, path);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

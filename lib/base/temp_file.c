/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Temporary files, in $TMPDIR or /tmp, have no name, so none is left behind, whatever happens. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/datafile.h>
#include "base/temp_file.h"

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

static int open_unnamed(const char *folder)
{
	char name[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	/* Some file systems do not support O_TMPFILE. */
	if (snprintf(name, sizeof(name), "%s/pcce.XXXXXX", folder) >= (int)sizeof(name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static int write_bytes(int to, const char *at, size_t n)
{
	while (n) {
		ssize_t put = write(to, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

/* Copies a recording. Input that does not begin as a recording may never end (/dev/zero): only its
 * beginning is copied, which is enough to refuse it. 0 or -errno. */
static int copy_recording(int from, int to)
{
	static const uint64_t magic = PCCE_FILE_MAGIC;
	char buffer[1 << 14];
	size_t have = 0;
	bool begun = false;
	int r = 0;

	while (!r) {
		ssize_t got = read(from, buffer + have, sizeof(buffer) - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		have += (size_t)got;
		if (got && have < sizeof(magic))
			continue;
		r = write_bytes(to, buffer, have);
		if (!got || (!begun && memcmp(buffer, &magic, sizeof(magic))))
			break;
		begun = true;
		have = 0;
	}
	return r;
}

int temp_file_open(const char *path, struct temp_file *s, struct error *why)
{
	const char *folder = temporary_folder();
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct stat st;

	*s = (struct temp_file){.path = path, .fd = -1};
	if (fd < 0)
		return 0;
	/* Standard input may be a regular file that was read in part: opening it again begins at
	 * its start. */
	if (fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		close(fd);
		return 0;
	}
	s->fd = open_unnamed(folder);
	r = s->fd < 0 ? -errno : copy_recording(fd, s->fd);
	close(fd);
	if (r) {
		error_set(
			why, 0,
			"cannot copy %s to a temporary file in %s: %s; set TMPDIR to a folder with "
			"enough space",
			path, folder, strerror(-r));
		temp_file_close(s);
		return r;
	}
	snprintf(s->own, sizeof(s->own), "/proc/self/fd/%d", s->fd);
	s->path = s->own;
	return 0;
}

int temp_file_create(struct temp_file *s)
{
	s->fd = open_unnamed(temporary_folder());
	if (s->fd < 0 || fcntl(s->fd, F_SETFD, 0))
		return -errno;
	snprintf(s->own, sizeof(s->own), "/proc/self/fd/%d", s->fd);
	s->path = s->own;
	return 0;
}

void temp_file_close(struct temp_file *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

FILE *temp_file_stream(void)
{
	int fd = open_unnamed(temporary_folder());
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

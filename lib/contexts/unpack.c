/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unpacks compressed core dumps with libarchive.
 *
 * The content goes to a file and not to memory, since a core can be larger than memory. Blocks of
 * zeros, of which cores have many, become holes.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "contexts/unpack.h"

#define HOLE 4096

static bool is_compressed(int fd)
{
	static const struct {
		const char *bytes;
		size_t n;
	} magics[] = {{"\x28\xb5\x2f\xfd", 4},
		      {"\xfd"
		       "7zXZ",
		       5},
		      {"\x04\x22\x4d\x18", 4},
		      {"\x1f\x8b", 2}};
	char head[8];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if (n >= (ssize_t)magics[i].n && !memcmp(head, magics[i].bytes, magics[i].n))
			return true;
	return false;
}

static int open_temporary(void)
{
	const char *folder = getenv("TMPDIR");
	char path[] = "/var/tmp/pcce-core.XXXXXX";
	int fd =
		open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) { /* not on this file system */
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	return fd < 0 ? -errno : fd;
}

static bool is_zero_block(const char *p, size_t n)
{
	return n && !p[0] && !memcmp(p, p + 1, n - 1);
}

/* Without the blocks of zeros. 0 or -errno. */
static int write_block(int fd, const char *p, size_t n, off_t at)
{
	while (n) {
		size_t part = n < HOLE ? n : HOLE;
		ssize_t done = is_zero_block(p, part) ? (ssize_t)part : pwrite(fd, p, part, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
		at += done;
	}
	return 0;
}

static int unpack_to(struct archive *a, int from, int to, struct error *why)
{
	struct archive_entry *entry;
	const void *block;
	off_t end = 0;
	la_int64_t at;
	size_t n;
	int r, err = 0;

	archive_read_support_format_raw(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lz4(a);
	archive_read_support_filter_gzip(a);
	r = archive_read_open_fd(a, from, 1 << 16);
	if (r == ARCHIVE_OK)
		r = archive_read_next_header(a, &entry);
	if (r != ARCHIVE_OK)
		return error_set(why, -EINVAL, "%s", archive_error_string(a));
	while (!err && (r = archive_read_data_block(a, &block, &n, &at)) == ARCHIVE_OK) {
		err = write_block(to, block, n, at);
		end = at + (off_t)n;
	}
	if (!err && ftruncate(to, end))
		err = -errno;
	if (err)
		return error_set(
			why, err,
			"cannot write a temporary file: %s; name a folder with room in TMPDIR",
			strerror(-err));
	if (r != ARCHIVE_EOF)
		error_set(why, 0, "%s", archive_error_string(a));
	return 0;
}

int unpack_open(int fd, struct error *why)
{
	struct archive *a;
	int to, r;

	why->text[0] = 0;
	if (!is_compressed(fd))
		return fd;
	to = open_temporary();
	if (to < 0)
		return error_set(why, to, "cannot make a temporary file: %s", strerror(-to));
	a = archive_read_new();
	r = a && lseek(fd, 0, SEEK_SET) == 0 ? unpack_to(a, fd, to, why) : error_memory(why);
	archive_read_free(a);
	if (r) {
		close(to);
		return r;
	}
	return to;
}

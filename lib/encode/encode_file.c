/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads and replaces the file of an encoding. The new contents go to a temporary file in the same
 * directory, which is then renamed. So a reader finds either the linked file or the encoded one,
 * also after a full disk or a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "encode/encode.h"

int encode_read_file(const char *path, uint8_t **data, size_t *size, struct error *why)
{
	struct stat st;
	size_t done = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	*data = NULL;
	if (fd < 0)
		return error_set(why, -errno, "cannot be opened: %s", strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return error_set(why, -EINVAL, "is not a regular file");
	}
	*size = st.st_size;
	*data = malloc(*size + 1);
	if (!*data) {
		close(fd);
		return error_set(why, -ENOMEM, "needs more memory than is available");
	}
	while (done < *size) {
		ssize_t n = read(fd, *data + done, *size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int err = n < 0 ? -errno : -EIO;

			close(fd);
			free(*data);
			*data = NULL;
			return error_set(why, err, "cannot be read: %s",
					 n < 0 ? strerror(-err)
					       : "it became shorter during the read");
		}
		done += n;
	}
	close(fd);
	return 0;
}

static int write_image(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		size -= n;
	}
	return 0;
}

/* like: the file whose mode and owner the new file gets. */
static int replace_file(const char *path, const struct stat *like, const uint8_t *data, size_t size,
			struct error *why)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path) + 1 : 0, fd, err;
	char *temporary;

	if (asprintf(&temporary, "%.*s.pcce-encode-XXXXXX", directory, path) < 0)
		return error_set(why, -ENOMEM, "needs more memory than is available");
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		err = error_set(why, -errno,
				"cannot be replaced: cannot create a file in its directory: %s",
				strerror(errno));
		free(temporary);
		return err;
	}
	err = write_image(fd, data, size);
	/* Only root can keep another owner; otherwise the file becomes the caller's. */
	if (!err && (fchown(fd, like->st_uid, like->st_gid) && errno != EPERM))
		err = -errno;
	if (!err && fchmod(fd, like->st_mode & 07777))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temporary, path))
		err = -errno;
	if (err) {
		unlink(temporary);
		error_set(why, err, "cannot be replaced: %s", strerror(-err));
	}
	free(temporary);
	return err;
}

int encode_file(const char *path, const char *output, const struct encode_options *options,
		struct encode_output *e, struct error *why)
{
	struct encode_output local;
	struct stat st;
	uint8_t *image;
	size_t size;
	char *real = NULL;
	int err;

	e = e ? e : &local;
	memset(e, 0, sizeof(*e));
	err = encode_read_file(path, &image, &size, why);
	if (err)
		return err;
	err = encode_image(image, size, options, e, why);
	if (!err && (e->result == ENCODE_DONE || (output && e->result == ENCODE_ALREADY))) {
		/* Replace the target of a symbolic link, not the link. */
		real = realpath(output ? output : path, NULL);
		if (stat(path, &st))
			err = error_set(why, -errno, "cannot be replaced: %s", strerror(errno));
		else
			err = replace_file(real	    ? real
					   : output ? output
						    : path,
					   &st, e->image ? e->image : image,
					   e->image ? e->size : size, why);
		free(real);
	}
	free(image);
	if (err || e == &local)
		encode_output_free(e);
	return err;
}

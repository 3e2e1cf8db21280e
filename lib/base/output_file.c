/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See output_file.h. All names are relative to a descriptor of the directory, so that they mean the
 * same directory at the beginning and at the end. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/text.h"

#define MAX_LINKS 40
#define MAX_NAMES 100

/* Paths of open descriptors. The kernel makes these links, and only opening follows them. */
static bool is_descriptor(const char *path)
{
	return !strncmp(path, "/dev/std", 8) || !strncmp(path, "/dev/fd/", 8) ||
	       !strncmp(path, "/proc/", 6);
}

static bool is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Replaces *path by what the symbolic link there points to. */
static int follow_link(char **path, struct error *why)
{
	char target[PATH_MAX], *next;
	ssize_t n = readlink(*path, target, sizeof(target) - 1);
	int r;

	if (n < 0)
		return error_set(why, -errno, "%s", strerror(errno));
	target[n] = 0;
	r = asprintf(&next, "%.*s%s", *target == '/' ? 0 : (int)(text_base(*path) - *path), *path,
		     target);
	if (r < 0)
		return error_memory(why);
	free(*path);
	*path = next;
	return 0;
}

/* Follows symbolic links at the end of o->path. st is of what is there; st_mode is 0 without. */
static int resolve(struct output_file *o, struct stat *st, struct error *why)
{
	for (int i = 0; i < MAX_LINKS; i++) {
		int r;

		*st = (struct stat){0};
		if (is_descriptor(o->path)) {
			if (stat(o->path, st))
				return error_set(why, -errno, "%s", strerror(errno));
			return 0;
		}
		if (lstat(o->path, st))
			return errno == ENOENT ? 0 : error_set(why, -errno, "%s", strerror(errno));
		if (!S_ISLNK(st->st_mode))
			return 0;
		if (!is_trusted(st))
			return error_set(
				why, -EACCES,
				"it is a symbolic link of another user; name another file");
		r = follow_link(&o->path, why);
		if (r)
			return r;
	}
	return error_set(why, -ELOOP, "%s", strerror(ELOOP));
}

/* Opens a device, a pipe or a descriptor, which cannot be replaced. */
static int open_special(struct output_file *o, const struct stat *st, struct error *why)
{
	bool descriptor = is_descriptor(o->path);
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (descriptor ? 0 : O_NOFOLLOW);
	struct stat now;

	if (S_ISDIR(st->st_mode))
		return error_set(why, -EISDIR, "%s", strerror(EISDIR));
	/* Its owner would read the output. */
	if (!descriptor && S_ISFIFO(st->st_mode) && !is_trusted(st))
		return error_set(why, -EACCES,
				 "it is a pipe of another user; use /dev/stdout, and redirect it");
	o->fd = open(o->path, S_ISREG(st->st_mode) ? flags | O_TRUNC : flags);
	if (o->fd < 0)
		return error_set(why, -errno, "%s", strerror(errno));
	if (fstat(o->fd, &now) || now.st_dev != st->st_dev || now.st_ino != st->st_ino) {
		close(o->fd);
		return error_set(why, -EACCES, "it was replaced in the meantime");
	}
	return 0;
}

/* Opens a file that cannot be replaced, but can be written: it is mounted by itself, or its
 * directory is read-only. No other user may have a share in it. */
static int open_in_place(struct output_file *o)
{
	struct stat now;
	int fd;

	fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &now) || !S_ISREG(now.st_mode) || now.st_nlink != 1 ||
	    now.st_uid != geteuid() || ftruncate(fd, 0)) {
		close(fd);
		return -EACCES;
	}
	o->fd = fd;
	return 0;
}

static void choose_hidden_name(struct output_file *o)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)getpid();
	snprintf(o->hidden, sizeof(o->hidden), ".pcce-%016" PRIx64, number);
}

static bool is_mounted(const char *path)
{
	struct statx st;

	return !statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) &&
	       st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Opens a file without a name, which the file system and /proc must allow. */
static bool open_unnamed_file(struct output_file *o, mode_t mode)
{
	o->fd = openat(o->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (o->fd < 0)
		return false;
	o->held = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
	snprintf(o->held_path, sizeof(o->held_path), "/proc/self/fd/%d", o->held);
	if (o->held >= 0 && !access(o->held_path, F_OK))
		return true;
	close(o->fd);
	if (o->held >= 0)
		close(o->held);
	o->held = -1;
	return false;
}

/* Opens a new file in o->directory. */
static int open_new(struct output_file *o, mode_t mode)
{
	if (open_unnamed_file(o, mode))
		return 0;
	for (int i = 0; i < MAX_NAMES; i++) {
		choose_hidden_name(o);
		o->fd = openat(o->directory, o->hidden,
			       O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode);
		o->named = o->fd >= 0;
		if (o->named || errno != EEXIST)
			break;
	}
	return o->named ? 0 : -errno;
}

static int create_beside(struct output_file *o, const struct stat *st, struct error *why)
{
	bool replaces = o->kind == OUTPUT_REPORT && S_ISREG(st->st_mode);
	char *folder;
	int r = 0;

	if (replaces && is_mounted(o->path) && !open_in_place(o))
		return 0;
	folder = strndup(o->path, (size_t)(o->name - o->path));
	if (!folder)
		return error_memory(why);
	o->directory = open(*folder ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->directory < 0)
		r = -errno;
	free(folder);
	if (!r)
		r = open_new(o, o->kind == OUTPUT_RECORDING ? 0600 : 0666);
	if (!r) {
		/* A report keeps the mode that its owner gave it. */
		if (replaces && st->st_uid == geteuid())
			fchmod(o->fd, st->st_mode & 0777);
		return 0;
	}
	if (o->directory >= 0)
		close(o->directory);
	o->directory = -1;
	if (r == -EACCES && replaces && !open_in_place(o))
		return 0;
	return error_set(why, r, "%s", strerror(-r));
}

int output_file_create(struct output_file *o, const char *path, enum output_kind kind,
		       struct error *why)
{
	struct stat st;
	int r;

	*o = (struct output_file){.fd = -1, .kind = kind, .held = -1, .directory = -1};
	if (!strcmp(path, "-")) {
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
		return o->fd < 0 ? error_set(why, -errno, "%s", strerror(errno)) : 0;
	}
	o->path = strdup(path);
	if (!o->path)
		return error_memory(why);
	r = resolve(o, &st, why);
	o->name = strrchr(o->path, '/');
	o->name = o->name ? o->name + 1 : o->path;
	if (!r && !*o->name)
		r = error_set(why, -EISDIR, "%s", strerror(*path ? EISDIR : ENOENT));
	if (!r && st.st_mode && (!S_ISREG(st.st_mode) || is_descriptor(o->path)))
		r = open_special(o, &st, why);
	else if (!r)
		r = create_beside(o, &st, why);
	if (r)
		output_file_discard(o);
	return r;
}

static int link_hidden(struct output_file *o)
{
	int r = -1;

	for (int i = 0; i < MAX_NAMES && r; i++) {
		choose_hidden_name(o);
		r = linkat(AT_FDCWD, o->held_path, o->directory, o->hidden, AT_SYMLINK_FOLLOW);
		if (r && errno != EEXIST)
			break;
	}
	o->named = !r;
	return r ? -errno : 0;
}

static int keep_old(const struct output_file *o)
{
	char *old;
	int r;

	if (asprintf(&old, "%s.old", o->name) < 0)
		return -ENOMEM;
	r = renameat(o->directory, o->name, o->directory, old) && errno != ENOENT ? -errno : 0;
	free(old);
	return r;
}

static int name_file(struct output_file *o)
{
	int r = o->named ? 0 : link_hidden(o);

	if (!r && o->kind == OUTPUT_RECORDING)
		r = keep_old(o);
	if (!r && renameat(o->directory, o->hidden, o->directory, o->name))
		r = -errno;
	o->named &= !!r;
	return r;
}

int output_file_commit(struct output_file *o)
{
	int r = o->directory < 0 ? 0 : name_file(o);

	if (!r)
		output_file_discard(o);
	return r;
}

void output_file_discard(struct output_file *o)
{
	if (o->named)
		unlinkat(o->directory, o->hidden, 0);
	if (o->held >= 0)
		close(o->held);
	if (o->directory >= 0)
		close(o->directory);
	free(o->path);
	o->named = false;
	o->held = o->directory = -1;
	o->path = NULL;
}

/* Writes for a stream, and keeps the reason of the first failure: a stream only knows that it
 * failed, perhaps long before it is closed. */
static ssize_t write_stream(void *cookie, const char *at, size_t n)
{
	struct output_file *o = cookie;
	size_t left = n;

	while (left && !o->error) {
		ssize_t put = write(o->fd, at, left);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			o->error = -errno;
			break;
		}
		at += put;
		left -= (size_t)put;
	}
	return (ssize_t)(n - left);
}

static int close_stream(void *cookie)
{
	struct output_file *o = cookie;

	return close(o->fd);
}

/* 0 or -errno. */
static int copy_bytes(FILE *from, int to)
{
	static char buffer[1 << 16];
	size_t n;

	rewind(from);
	while ((n = fread(buffer, 1, sizeof(buffer), from)))
		for (size_t done = 0; done < n;) {
			ssize_t put = write(to, buffer + done, n - done);

			if (put < 0 && errno != EINTR)
				return -errno;
			done += put < 0 ? 0 : (size_t)put;
		}
	return ferror(from) ? -EIO : 0;
}

int output_file_copy(FILE *from, const char *path, enum output_kind kind, struct error *why)
{
	struct output_file o;
	int r = output_file_create(&o, path, kind, why);

	if (r)
		return r;
	r = copy_bytes(from, o.fd);
	r = r ? r : output_file_commit(&o);
	output_file_discard(&o);
	close(o.fd);
	return r ? error_set(why, r, "%s", strerror(-r)) : 0;
}

int output_stream_open(struct output_file *o, const char *path, FILE **out, struct error *why)
{
	int r = output_file_create(o, path ? path : "-", OUTPUT_REPORT, why);

	if (r)
		return r;
	*out = fopencookie(o, "w",
			   (cookie_io_functions_t){.write = write_stream, .close = close_stream});
	if (*out) {
		/* Some formats write gigabytes. */
		setvbuf(*out, NULL, _IOFBF, 1 << 20);
		return 0;
	}
	close(o->fd);
	output_file_discard(o);
	return error_memory(why);
}

int output_stream_close(struct output_file *o, FILE *out, int error)
{
	/* Some file systems report a full disk only here. */
	int closed = fclose(out) ? -errno : 0;

	if (!error)
		error = o->error ? o->error : closed;
	if (!error)
		error = output_file_commit(o);
	output_file_discard(o);
	return error;
}

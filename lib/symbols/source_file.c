/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds and reads a source file: see source_file.h. The path comes from a recording, so only
 * regular files of limited size are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "symbols/debuginfo.h"
#include "symbols/source_file.h"

#define LARGEST (64 << 20)

/* Returns a descriptor of a regular file, or -1. */
static int open_source_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= LARGEST)
		return fd;
	close(fd);
	return -1;
}

static int open_source_in(const char *dir, const char *path)
{
	int fd = -1;

	for (const char *end = path; end && fd < 0; end = strchr(end, '/')) {
		char *name;

		while (*end == '/')
			end++;
		if (asprintf(&name, "%s/%s", dir, end) < 0)
			return -1;
		fd = open_source_path(name);
		free(name);
	}
	return fd;
}

static int find_source(const char *path, const struct source_file_dirs *dirs, const uint8_t *id,
		       size_t id_size)
{
	int fd = -1;

	for (size_t i = 0; i < dirs->n && fd < 0; i++)
		fd = open_source_in(dirs->list[i], path);
	if (fd < 0 && *path)
		fd = open_source_path(path);
	if (fd < 0 && id_size) {
		char *fetched = debuginfo_source(id, id_size, path);

		fd = fetched ? open_source_path(fetched) : -1;
		free(fetched);
	}
	return fd;
}

static int split_lines(struct source_file *f)
{
	for (char *at = f->text; *at;) {
		char *end = strchrnul(at, '\n');

		if (array_grow(&f->lines, f->n, sizeof(*f->lines)))
			return -ENOMEM;
		f->lines[f->n++] = at;
		if (!*end)
			break;
		*end = 0;
		at = end + 1;
	}
	return 0;
}

int source_file_read(const char *path, const struct source_file_dirs *dirs, const uint8_t *build_id,
		     size_t build_id_size, struct source_file *to, struct error *why)
{
	int fd = find_source(path, dirs, build_id, build_id_size), r = 0;
	struct stat st;
	size_t n = 0;

	*to = (struct source_file){0};
	if (fd < 0)
		return error_set(why, -ENOENT, "cannot find source file %s; use --source=DIR",
				 path);
	if (fstat(fd, &st))
		st.st_size = 0;
	to->text = malloc((size_t)st.st_size + 1);
	while (to->text && n < (size_t)st.st_size) {
		ssize_t got = read(fd, to->text + n, (size_t)st.st_size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(fd);
	if (to->text)
		to->text[n] = 0;
	if (!to->text || split_lines(to))
		r = -ENOMEM;
	if (r) {
		error_set(why, 0, "cannot read source file %s: out of memory", path);
		source_file_free(to);
	}
	return r;
}

const char *source_file_line(const struct source_file *f, size_t i, char *to, size_t size)
{
	char buffer[SOURCE_LINE_MAX];
	const char *clean;
	size_t at = 0;

	for (const char *line = i < f->n ? f->lines[i] : ""; *line && at + 1 < size; line++) {
		if (*line != '\t') {
			if (*line != '\r')
				to[at++] = *line;
			continue;
		}
		do
			to[at++] = ' ';
		while (at % 8 && at + 1 < size);
	}
	to[at] = 0;
	clean = text_clean(to, buffer, sizeof(buffer));
	if (clean != to)
		snprintf(to, size, "%s", clean);
	return to;
}

void source_file_free(struct source_file *f)
{
	free(f->text);
	free(f->lines);
	*f = (struct source_file){0};
}

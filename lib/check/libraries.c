/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See libraries.h. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "check/libraries.h"

#define MAX_FILES 4096
#define MAX_INCLUDES 16 /* levels */

struct folders {
	char **all;
	size_t n;
};

/* ---- where libraries are --------------------------------------------------------- */

static int add_folder(struct folders *f, const char *path, size_t length)
{
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (!length)
		return 0;
	if (array_grow(&f->all, f->n, sizeof(*f->all)))
		return -ENOMEM;
	f->all[f->n] = strndup(path, length);
	return f->all[f->n] ? (f->n++, 0) : -ENOMEM;
}

static void free_folders(struct folders *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->all[i]);
	free(f->all);
}

/* Adds the folders of a list that colons separate. $ORIGIN is the folder of the file. */
static int add_folder_list(struct folders *f, const char *list, const char *origin)
{
	int r = 0;

	while (list && *list && !r) {
		size_t length = strcspn(list, ":");
		size_t skip = !strncmp(list, "$ORIGIN", 7)     ? 7
			      : !strncmp(list, "${ORIGIN}", 9) ? 9
							       : 0;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s%.*s",
			 skip ? (int)(text_base(origin) - origin) : 0, origin, (int)(length - skip),
			 list + skip);
		if (!*path && skip)
			snprintf(path, sizeof(path), ".");
		r = add_folder(f, path, strlen(path));
		list += length + (list[length] == ':');
	}
	return r;
}

static int add_configured(struct folders *f, const char *pattern, int level)
{
	glob_t files;
	int r = 0;

	if (level > MAX_INCLUDES || glob(pattern, 0, NULL, &files))
		return 0;
	for (size_t i = 0; i < files.gl_pathc && !r; i++) {
		FILE *in = fopen(files.gl_pathv[i], "re");
		char line[PATH_MAX];

		while (in && !r && fgets(line, sizeof(line), in)) {
			char *at = line + strspn(line, " \t");

			at[strcspn(at, "#\r\n")] = 0;
			if (!strncmp(at, "include", 7))
				r = add_configured(f, at + 7 + strspn(at + 7, " \t"), level + 1);
			else if (*at == '/')
				r = add_folder(f, at, strcspn(at, " \t"));
		}
		if (in)
			fclose(in);
	}
	globfree(&files);
	return r;
}

static int add_system_folders(struct folders *f)
{
	static const char *const usual[] = {"/lib/x86_64-linux-gnu",
					    "/usr/lib/x86_64-linux-gnu",
					    "/lib64",
					    "/usr/lib64",
					    "/lib",
					    "/usr/lib"};
	int r = add_configured(f, "/etc/ld.so.conf", 0);

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && !r; i++)
		r = add_folder(f, usual[i], strlen(usual[i]));
	return r;
}

/* ---- the list -------------------------------------------------------------------- */

/* Returns the new entry; NULL: no memory, or too many files. */
static struct check_entry *add_entry(struct check_list *l, const char *name)
{
	struct check_entry *e;

	if (l->n == MAX_FILES || array_grow(&l->all, l->n, sizeof(*l->all)))
		return NULL;
	e = &l->all[l->n];
	*e = (struct check_entry){.name = strdup(name)};
	if (!e->name)
		return NULL;
	l->n++;
	return e;
}

/* Closes fd. */
static int fill_entry(struct check_entry *e, int fd)
{
	int r = check_file_read(fd, &e->file, &e->error);

	e->found = true;
	close(fd);
	return r == -ENOMEM ? r : 0;
}

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static bool has_library(const struct check_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(text_base(l->all[i].name), text_base(name)))
			return true;
	return false;
}

static int add_library(struct check_list *l, const struct folders *f, const char *name)
{
	char path[PATH_MAX];
	struct check_entry *e;
	int fd = -1;

	snprintf(path, sizeof(path), "%s", name);
	if (strchr(name, '/'))
		fd = open_file(name);
	for (size_t i = 0; i < f->n && fd < 0 && !strchr(name, '/'); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->all[i], name);
		fd = open_file(path);
	}
	e = add_entry(l, fd < 0 ? name : path);
	if (!e) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	return fd < 0 ? 0 : fill_entry(e, fd);
}

/* Adds the libraries that entry i needs. */
static int add_needed_of(struct check_list *l, size_t i)
{
	struct folders f = {0};
	int r = add_folder_list(&f, l->all[i].file.run_path, l->all[i].name);

	/* The program's own list counts for its libraries too, if it is of the old kind; here
	 * always. */
	if (!r && i)
		r = add_folder_list(&f, l->all[0].file.run_path, l->all[0].name);
	if (!r)
		r = add_folder_list(&f, getenv("LD_LIBRARY_PATH"), "");
	if (!r)
		r = add_system_folders(&f);
	for (size_t k = 0; k < l->all[i].file.n_needed && !r; k++)
		if (!has_library(l, l->all[i].file.needed[k]))
			r = add_library(l, &f, l->all[i].file.needed[k]);
	free_folders(&f);
	return r;
}

int check_libraries_of_file(const char *path, struct check_list *l, struct error *why)
{
	int fd = open_file(path), r = 0;
	struct check_entry *e;

	*l = (struct check_list){0};
	if (fd < 0)
		return error_set(why, -errno, "cannot open %s: %s", path, strerror(errno));
	e = add_entry(l, path);
	if (!e) {
		close(fd);
		return error_memory(why);
	}
	r = fill_entry(e, fd);
	if (!r && *e->error.text)
		return error_set(why, -ENOEXEC, "cannot check %s: it %s", path, e->error.text);
	for (size_t i = 0; i < l->n && !r; i++)
		r = add_needed_of(l, i);
	return r ? error_memory(why) : 0;
}

/* ---- processes ------------------------------------------------------------------- */

static int add_mapping(struct check_list *l, pid_t pid, const char *line)
{
	uint64_t start, end;
	char permissions[8];
	struct check_entry *e;
	int at = 0, fd;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &start, &end, permissions,
		   &at) < 3 ||
	    !at || permissions[2] != 'x' || line[at] != '/')
		return 0;
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->all[i].name, line + at))
			return 0;
	e = add_entry(l, line + at);
	if (!e)
		return -ENOMEM;
	fd = mapped_file_open(pid, start, end - start, line + at, 0);
	return fd < 0 ? 0 : fill_entry(e, fd);
}

/* The program is the first file that is one, wherever it is mapped. */
static void put_program_first(struct check_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct check_entry e = l->all[i];

		if (!e.file.program)
			continue;
		memmove(l->all + 1, l->all, i * sizeof(*l->all));
		l->all[0] = e;
		return;
	}
}

int check_libraries_of_process(pid_t pid, struct check_list *l, struct error *why)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	FILE *f;
	int r = 0;

	*l = (struct check_list){0};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return error_set(why, -errno, "cannot check process %d: %s", (int)pid,
				 errno == ENOENT ? "no such process" : strerror(errno));
	errno = 0;
	while (!r && getline(&line, &capacity, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		r = add_mapping(l, pid, line);
		errno = 0;
	}
	if (r)
		error_memory(why);
	else if (errno)
		r = error_set(why, -errno, "cannot check process %d: %s", (int)pid,
			      strerror(errno));
	else if (!l->n)
		r = error_set(
			why, -ENOEXEC,
			"cannot check process %d: it has mapped no file; it is a thread of the "
			"kernel, or has ended",
			(int)pid);
	free(line);
	fclose(f);
	put_program_first(l);
	return r;
}

void check_list_free(struct check_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		check_file_free(&l->all[i].file);
		free(l->all[i].name);
	}
	free(l->all);
	*l = (struct check_list){0};
}

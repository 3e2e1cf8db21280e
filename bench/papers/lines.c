/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counts the lines of a program's source files, which it finds by the DWARF line tables. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>
#include "bench/papers/lines.h"

struct source {
	UT_hash_handle hh;
	char name[];
};

static uint64_t lines_of(const char *path)
{
	FILE *f = fopen(path, "r");
	uint64_t n = 0;
	int c;

	if (!f)
		return 0;
	while ((c = getc_unlocked(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

/* Stores the file's real name in *real.  Returns false if the file is missing or outside root. */
static bool find_source(const char *directory, const char *name, const char *root, char *real)
{
	char path[PATH_MAX];
	size_t n = strlen(root);

	if (snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : directory,
		     *name == '/' ? "" : "/", name) >= (int)sizeof(path))
		return false;
	return realpath(path, real) && !strncmp(real, root, n) && real[n] == '/';
}

static int add_source(struct source **all, const char *real, uint64_t *lines, uint64_t *files)
{
	struct source *s;
	size_t n = strlen(real);

	HASH_FIND(hh, *all, real, n, s);
	if (s)
		return 0;
	s = malloc(sizeof(*s) + n + 1);
	if (!s)
		return -ENOMEM;
	memcpy(s->name, real, n + 1);
	HASH_ADD_KEYPTR(hh, *all, s->name, n, s);
	*lines += lines_of(real);
	*files += 1;
	return 0;
}

static int unit_lines(Dwarf_Die *unit, const char *root, struct source **all, uint64_t *lines,
		      uint64_t *files)
{
	Dwarf_Attribute attribute;
	const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	const char *last = NULL;
	Dwarf_Lines *rows;
	size_t n;

	if (dwarf_getsrclines(unit, &rows, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = dwarf_linesrc(dwarf_onesrcline(rows, i), NULL, NULL);
		char real[PATH_MAX];

		if (!name || name == last)
			continue;
		last = name;
		if (find_source(directory ? directory : ".", name, root, real) &&
		    add_source(all, real, lines, files))
			return -ENOMEM;
	}
	return 0;
}

int lines_count(const char *path, const char *root, uint64_t *lines, uint64_t *files,
		struct error *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
	struct source *all = NULL, *s, *next;
	char real_root[PATH_MAX];
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	*lines = *files = 0;
	if (!dwarf)
		err = error_set(why, -EINVAL, "has no debug information: %s; compile it with -g",
				fd < 0 ? strerror(errno) : dwarf_errmsg(-1));
	else if (!realpath(root, real_root))
		err = error_set(why, -errno, "has its source in '%s', which cannot be read: %s",
				root, strerror(errno));
	while (!err && !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL))
		if (unit_lines(&unit, real_root, &all, lines, files))
			err = error_memory(why);
	HASH_ITER (hh, all, s, next) {
		HASH_DEL(all, s);
		free(s);
	}
	if (dwarf)
		dwarf_end(dwarf);
	if (fd >= 0)
		close(fd);
	return err;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See spool.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <pcce/datafile.h>
#include "base/array.h"
#include "daemon/spool.h"
#include "stream/reader.h"

#define PART ".part"

static bool is_window(const char *name)
{
	return !strncmp(name, SPOOL_WINDOW ".", sizeof(SPOOL_WINDOW));
}

/* Is it being recorded or completed? */
static bool is_partial(const char *name)
{
	size_t n = strlen(name);

	return n > strlen(PART) && !strcmp(name + n - strlen(PART), PART);
}

static int compare_windows(const void *a, const void *b)
{
	return strcmp(((const struct spool_window *)a)->name,
		      ((const struct spool_window *)b)->name);
}

static int add_window(struct spool *s, const char *name, uint64_t bytes)
{
	if (array_grow_from(&s->windows, s->n, &s->capacity, 64, sizeof(*s->windows)))
		return -ENOMEM;
	s->windows[s->n] = (struct spool_window){strdup(name), bytes};
	return s->windows[s->n].name ? (s->n++, 0) : -ENOMEM;
}

static void forget_windows(struct spool *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->windows[i].name);
	s->n = 0;
	s->bytes = 0;
}

int spool_list(struct spool *s, const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	struct stat st;
	int err = 0;

	forget_windows(s);
	if (!d)
		return -errno;
	while (!err && (e = readdir(d))) {
		if (!is_window(e->d_name) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		s->bytes += (uint64_t)st.st_size;
		if (!is_partial(e->d_name))
			err = add_window(s, e->d_name, (uint64_t)st.st_size);
	}
	closedir(d);
	if (s->n)
		qsort(s->windows, s->n, sizeof(*s->windows), compare_windows);
	return err;
}

void spool_free(struct spool *s)
{
	forget_windows(s);
	free(s->windows);
}

void spool_adopt(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char name[sizeof(e->d_name)];

	while (d && (e = readdir(d))) {
		if (!is_window(e->d_name) || !is_partial(e->d_name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(strlen(e->d_name) - strlen(PART)),
			 e->d_name);
		renameat(dirfd(d), e->d_name, dirfd(d), name);
	}
	if (d)
		closedir(d);
}

void spool_counts(const char *folder, const char *name, uint64_t *samples, uint64_t *lost)
{
	const struct pcce_record *rec;
	struct datafile_reader *r;
	struct error why;
	char *path;

	*samples = *lost = 0;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return;
	if (!datafile_open(path, &r, &why)) {
		while (datafile_next(r, &rec) > 0) {
			const struct pcce_rec_end *end = (const struct pcce_rec_end *)rec;

			if (rec->type == PCCE_REC_END) {
				*samples = end->samples;
				*lost = end->lost;
			}
		}
		datafile_close(r);
	}
	free(path);
}

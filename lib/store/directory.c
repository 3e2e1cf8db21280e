/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See directory.h. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/output_file.h"
#include "store/directory.h"
#include "stream/recording.h"

#define SUFFIX ".pcce.data"
#define TIME_FORMAT "%Y%m%dT%H%M%SZ" /* UTC */

/* Returns a name for the recording, which is equal each time it is put. NULL: why has a whole
 * sentence. */
static char *name_recording(const char *folder, const struct merged *m, struct error *why)
{
	struct recording *r;
	char when[32], host[65], *name = NULL;
	struct tm tm;
	time_t t;

	if (recording_open(m->path, NULL, NULL, &r, why))
		return NULL;
	t = (time_t)(r->info.wall_time / 1000000000);
	strftime(when, sizeof(when), TIME_FORMAT, gmtime_r(&t, &tm));
	snprintf(host, sizeof(host), "%s", r->host);
	for (char *c = host; *c; c++)
		if (*c == '/' || (unsigned char)*c <= ' ')
			*c = '_';
	if (asprintf(&name, "%s/%s-%s-%09" PRIu64 "-%08" PRIx32 SUFFIX, folder, when, host,
		     (uint64_t)(r->info.wall_time % 1000000000), m->run) < 0) {
		error_memory(why);
		name = NULL;
	}
	recording_close(r);
	return name;
}

int directory_put(const char *folder, const struct merged *m, struct error *why)
{
	char *path = name_recording(folder, m, why);
	struct stat st;
	int r;

	if (!path)
		return -EIO;
	if (mkdir(folder, 0700) && errno != EEXIST) {
		r = error_set(why, -errno, "cannot create the folder %s: %s", folder,
			      strerror(errno));
		free(path);
		return r;
	}
	if (!stat(path, &st)) { /* it is there already */
		free(path);
		return 0;
	}
	r = output_file_copy(m->file, path, OUTPUT_RECORDING, why);
	if (r) {
		const struct error reason = *why;

		error_set(why, r, "cannot write %s: %.900s", path, reason.text);
	}
	free(path);
	return r;
}

/* ---- reading --------------------------------------------------------------------- */

struct files {
	char **names;
	size_t n;
};

static void free_files(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->names[i]);
	free(f->names);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is this the name of a recording of the time that is asked for? */
static bool is_of_time(const char *name, const struct store_query *q)
{
	size_t n = strlen(name);
	struct tm tm = {0};
	uint64_t t;

	if (n <= strlen(SUFFIX) || strcmp(name + n - strlen(SUFFIX), SUFFIX) != 0 ||
	    !strptime(name, TIME_FORMAT, &tm))
		return false;
	t = (uint64_t)timegm(&tm);
	return t >= q->since && (!q->until || t < q->until);
}

static int list_recordings(const char *folder, const struct store_query *q, struct files *f,
			   struct error *why)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int r = 0;

	if (!d)
		return error_set(why, -errno, "cannot read the folder %s: %s", folder,
				 strerror(errno));
	while (!r && (e = readdir(d))) {
		if (!is_of_time(e->d_name, q))
			continue;
		if (array_grow(&f->names, f->n, sizeof(*f->names)) ||
		    asprintf(&f->names[f->n], "%s/%s", folder, e->d_name) < 0)
			r = error_memory(why);
		else
			f->n++;
	}
	closedir(d);
	if (f->n)
		qsort(f->names, f->n, sizeof(*f->names), compare_names);
	return r;
}

/* Tells of a file that cannot be read. Others are worth having. */
static bool is_readable(const char *path, void (*note)(const char *text))
{
	struct recording *r;
	struct error why = {0};
	bool good = !recording_open(path, NULL, NULL, &r, &why);

	if (good)
		recording_close(r);
	else
		note(why.text);
	return good;
}

static FILE *merge_files(const struct files *f, void (*note)(const char *text), struct error *why)
{
	struct merge *m = merge_new();
	FILE *out = NULL;
	int r = m ? 0 : error_memory(why);

	for (size_t i = 0; i < f->n && !r; i++)
		if (is_readable(f->names[i], note))
			r = merge_add(m, f->names[i], note, why);
	if (!r && !merge_counts(m).files)
		r = error_set(why, -ENOENT, "cannot read from the folder: no file can be read");
	if (!r)
		out = merged_write(m, why);
	merge_free(m);
	return out;
}

FILE *directory_get(const char *folder, const struct store_query *q, void (*note)(const char *text),
		    struct error *why)
{
	struct files f = {0};
	FILE *out = NULL;
	int r;

	if (q->where) {
		error_set(why, -EINVAL,
			  "cannot use --where with the folder %s: it has no tables; use pcce "
			  "report's --pid, --comm, --tid or --event",
			  folder);
		return NULL;
	}
	r = list_recordings(folder, q, &f, why);
	if (!r && !f.n)
		error_set(why, -ENOENT,
			  "cannot read from %s: it has no recording of this time; change --since",
			  folder);
	else if (!r)
		out = merge_files(&f, note, why);
	free_files(&f);
	return out;
}

/* ---- removing -------------------------------------------------------------------- */

int directory_expire(const char *folder, uint64_t size, uint64_t age, struct error *why)
{
	uint64_t now = (uint64_t)time(NULL), bytes = 0;
	struct store_query all = {0}, old = {.until = age && age < now ? now - age : 0};
	struct files f = {0};
	struct stat st;
	int r = size || age ? list_recordings(folder, &all, &f, why) : 0;

	for (size_t i = f.n; i-- > 0 && !r;) {
		const char *name = strrchr(f.names[i], '/') + 1;

		if (stat(f.names[i], &st))
			continue;
		bytes += (uint64_t)st.st_size;
		if (((size && bytes > size) || (old.until && is_of_time(name, &old))) &&
		    unlink(f.names[i]) && errno != ENOENT)
			r = error_set(why, -errno, "cannot remove %s: %s", f.names[i],
				      strerror(errno));
	}
	free_files(&f);
	return r;
}

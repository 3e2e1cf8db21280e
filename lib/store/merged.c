/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See merged.h. */
#include <errno.h>
#include <sha256.h>
#include <string.h>
#include <unistd.h>
#include "base/temp_file.h"
#include "store/merged.h"
#include "stream/writer.h"

FILE *merged_file(int (*write)(const void *of, struct datafile_writer *w), const void *of,
		  struct error *why)
{
	FILE *file = temp_file_stream();
	struct datafile_writer *w;
	int fd, r, closed;

	if (!file) {
		error_set(why, -errno, "cannot create a temporary file: %s", strerror(errno));
		return NULL;
	}
	fd = dup(fileno(file));
	r = fd < 0 ? -errno : datafile_writer_new(fd, "a temporary file", &w);
	if (r) {
		error_set(why, r, "cannot write a temporary file: %s", strerror(-r));
	} else {
		r = write(of, w);
		closed = datafile_flush(w);
		/* The writer says of other failures that a part is saved. */
		if (r == -EBADMSG)
			error_set(why, r, "%s", datafile_writer_error(w));
		r = r ? r : closed;
		closed = datafile_writer_close(w);
		r = r ? r : closed;
	}
	if (!r) {
		rewind(file);
		return file;
	}
	if (!*why->text)
		error_set(why, r, "cannot write a temporary file: %s", strerror(-r));
	fclose(file);
	return NULL;
}

static int write_merge(const void *of, struct datafile_writer *w)
{
	return merge_write(of, w);
}

FILE *merged_write(const struct merge *of, struct error *why)
{
	return merged_file(write_merge, of, why);
}

/* Leaves the file at its beginning. */
static int hash_merged(struct merged *m, const char *service, struct error *why)
{
	static uint8_t buffer[1 << 16];
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;
	size_t n;

	SHA256Init(&sha);
	if (service) /* with its NUL */
		SHA256Update(&sha, (const uint8_t *)service, strlen(service) + 1);
	while ((n = fread(buffer, 1, sizeof(buffer), m->file)))
		SHA256Update(&sha, buffer, n);
	if (ferror(m->file))
		return error_set(why, -EIO, "cannot read a temporary file: %s", strerror(errno));
	SHA256Final(digest, &sha);
	memcpy(&m->run, digest, sizeof(m->run));
	rewind(m->file);
	return 0;
}

int merged_make(struct merged *m, const char *recording, const char *service,
		void (*note)(const char *text), struct error *why)
{
	struct merge *all = merge_new();
	int r;

	*m = (struct merged){.name = recording};
	if (!all)
		return error_memory(why);
	r = merge_add(all, recording, note, why);
	if (!r) {
		m->file = merged_write(all, why);
		if (!m->file)
			r = -EIO;
		else
			snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", fileno(m->file));
		r = r ? r : hash_merged(m, service, why);
		if (r)
			merged_free(m);
	}
	merge_free(all);
	return r;
}

void merged_free(struct merged *m)
{
	if (m->file)
		fclose(m->file);
	m->file = NULL;
}

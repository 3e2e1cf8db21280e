/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Collects records in a buffer, and writes them to pcce.data.
 *
 * Never syncs the file. So a crash of the recorder costs only what was not flushed, and a full disk
 * only the records that do not fit. A power failure can cost more.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libdeflate.h>

#include "stream/record_check.h"
#include "stream/writer.h"

#define BUFFER (256u << 10)

struct datafile_writer {
	int fd;
	char *name;
	uint8_t *buf;
	size_t used, capacity;
	uint64_t written;	   /* bytes in the file */
	struct record_check check; /* of the records so far */
	int error;
	char message[512];
};

/* The longest run of complete records within the first n bytes of the buffer. */
static size_t complete_prefix(const struct datafile_writer *w, size_t n)
{
	size_t done = 0;

	if (!w->written) /* the file header comes first */
		done = sizeof(struct pcce_file_header);
	while (done + sizeof(struct pcce_record) <= n) {
		const struct pcce_record *rec = (const struct pcce_record *)(w->buf + done);

		if (done + rec->size > n)
			break;
		done += rec->size;
	}
	return done <= n ? done : 0;
}

static int set_write_error(struct datafile_writer *w, size_t done, int err)
{
	uint64_t keep = w->written + complete_prefix(w, done);

	w->error = err;
	/* Fails on a pipe, which cannot be truncated: a reader drops the incomplete record. */
	if (ftruncate(w->fd, (off_t)keep) || lseek(w->fd, (off_t)keep, SEEK_SET) < 0)
		keep = w->written + done;
	snprintf(w->message, sizeof(w->message),
		 "cannot write %s: %s; the first %" PRIu64 " bytes of the recording are saved",
		 w->name, strerror(-err), keep);
	w->written = keep;
	w->used = 0;
	return err;
}

int datafile_flush(struct datafile_writer *w)
{
	size_t done = 0;

	if (w->error)
		return w->error;
	while (done < w->used) {
		ssize_t n = write(w->fd, w->buf + done, w->used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return set_write_error(w, done, n ? -errno : -EIO);
		done += (size_t)n;
	}
	w->written += w->used;
	w->used = 0;
	return 0;
}

static int reserve_buffer(struct datafile_writer *w, size_t size)
{
	uint8_t *grown;
	int err;

	if (w->used + size <= w->capacity)
		return 0;
	err = datafile_flush(w);
	if (err || size <= w->capacity)
		return err;
	grown = realloc(w->buf, size);
	if (!grown) {
		w->error = -ENOMEM;
		snprintf(w->message, sizeof(w->message),
			 "cannot write %s: out of memory for a record of %zu bytes", w->name, size);
		return w->error;
	}
	w->buf = grown;
	w->capacity = size;
	return 0;
}

int datafile_writer_new(int fd, const char *name, struct datafile_writer **out)
{
	struct datafile_writer *w = calloc(1, sizeof(*w));
	struct pcce_file_header head = {
		.magic = PCCE_FILE_MAGIC,
		.version = PCCE_FILE_VERSION,
		.header_size = sizeof(head),
		.byte_order = PCCE_FILE_BYTE_ORDER,
	};

	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->name = strdup(name);
	w->buf = malloc(BUFFER);
	w->capacity = BUFFER;
	if (!w->name || !w->buf) {
		free(w->name);
		free(w->buf);
		free(w);
		return -ENOMEM;
	}
	memcpy(w->buf, &head, sizeof(head));
	w->used = sizeof(head);
	*out = w;
	return 0;
}

/* Refuses a record that no reader would accept. */
static int refuse_record(struct datafile_writer *w, uint32_t type, const char *what)
{
	const struct record_shape *shape = record_shape(type);

	snprintf(w->message, sizeof(w->message), "cannot write %s: the %s record %s", w->name,
		 shape ? shape->name : "unknown", what);
	return -EBADMSG;
}

int datafile_put(struct datafile_writer *w, uint32_t type, const void *fixed, size_t fixed_size,
		 const struct iovec *parts, int n_parts)
{
	struct pcce_record *rec;
	size_t size = fixed_size, at = fixed_size, padded;
	const char *what;
	int i, err;

	if (w->error)
		return w->error;
	w->message[0] = 0;
	for (i = 0; i < n_parts; i++)
		size += parts[i].iov_len;
	padded = (size + 7) & ~(size_t)7;
	if (!record_check_size(type, padded))
		return refuse_record(w, type, "has an impossible size");
	err = reserve_buffer(w, padded);
	if (err)
		return err;
	rec = (struct pcce_record *)(w->buf + w->used);
	memcpy(rec, fixed, fixed_size);
	for (i = 0; i < n_parts; i++) {
		if (parts[i].iov_len)
			memcpy((uint8_t *)rec + at, parts[i].iov_base, parts[i].iov_len);
		at += parts[i].iov_len;
	}
	memset((uint8_t *)rec + at, 0, padded - at);
	rec->type = type;
	rec->size = (uint32_t)padded;
	rec->reserved = 0;
	what = w->check.complete ? "comes after the end record" : record_check(&w->check, rec);
	if (what)
		return refuse_record(w, type, what);
	rec->crc = 0;
	rec->crc = libdeflate_crc32(0, rec, padded);
	w->used += padded;
	return 0;
}

/* Where the character at `at` begins, in UTF-8. */
static size_t character_start(const char *text, size_t at)
{
	while (at && (text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

int datafile_put_strings(struct datafile_writer *w, uint32_t type, const void *fixed,
			 size_t fixed_size, const char *const *strings, int n_strings)
{
	static const char cut[] = "...";
	struct iovec parts[2 * RECORD_STRINGS_MAX];
	const struct record_shape *shape = record_shape(type);
	size_t all = fixed_size, limit = SIZE_MAX;
	int i, n = 0;

	if (n_strings > RECORD_STRINGS_MAX)
		return -EINVAL;
	for (i = 0; i < n_strings; i++)
		all += strlen(strings[i]) + 1;
	if (shape && n_strings && all > shape->max)
		limit = (shape->max - fixed_size) / (size_t)n_strings - sizeof(cut);
	for (i = 0; i < n_strings; i++) {
		size_t length = strlen(strings[i]);
		bool whole = length <= limit;

		parts[n].iov_base = (void *)(uintptr_t)strings[i];
		parts[n++].iov_len = whole ? length + 1 : character_start(strings[i], limit);
		if (!whole)
			parts[n++] = (struct iovec){(void *)(uintptr_t)cut, sizeof(cut)};
	}
	return datafile_put(w, type, fixed, fixed_size, parts, n);
}

uint64_t datafile_size(const struct datafile_writer *w)
{
	return w->written + w->used;
}

const char *datafile_writer_error(const struct datafile_writer *w)
{
	return w->message;
}

int datafile_writer_close(struct datafile_writer *w)
{
	int err = datafile_flush(w);

	/* Some file systems report a full disk only here. */
	if (close(w->fd) && !err)
		err = -errno;
	free(w->name);
	free(w->buf);
	free(w);
	return err;
}

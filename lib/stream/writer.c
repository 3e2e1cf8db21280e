/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Collects records in a buffer, and writes them to pcce.data. What is flushed at a time is packed
 * into one record.
 *
 * Never syncs the file. So a crash of the recorder costs only what was not flushed, and a full disk
 * only what does not fit. A power failure can cost more.
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
#define LEVEL 1 /* of the compression: 9 saves a fifth more, and takes ten times as long */

struct datafile_writer {
	int fd;
	char *name;
	uint8_t *buf;
	size_t used, capacity;
	struct libdeflate_compressor *compressor;
	uint64_t written;	   /* bytes in the file */
	struct record_check check; /* of the records so far */
	int error;
	char message[512];
};

static const struct pcce_file_header head = {
	.magic = PCCE_FILE_MAGIC,
	.version = PCCE_FILE_VERSION,
	.header_size = sizeof(head),
	.byte_order = PCCE_FILE_BYTE_ORDER,
	.features = PCCE_FEATURE_PACKED,
};

static int write_out(struct datafile_writer *w, const void *bytes, size_t n)
{
	size_t done = 0;
	int err = 0;

	while (done < n && !err) {
		ssize_t got = write(w->fd, (const uint8_t *)bytes + done, n - done);

		if (got > 0)
			done += (size_t)got;
		else if (!got || errno != EINTR)
			err = got ? -errno : -EIO;
	}
	if (!err) {
		w->written += n;
		return 0;
	}
	w->error = err;
	/* Fails on a pipe, which cannot be truncated: a reader drops the incomplete record. */
	if (ftruncate(w->fd, (off_t)w->written) || lseek(w->fd, (off_t)w->written, SEEK_SET) < 0)
		w->written += done;
	snprintf(w->message, sizeof(w->message),
		 "cannot write %s: %s; the first %" PRIu64 " bytes of the recording are saved",
		 w->name, strerror(-err), w->written);
	w->used = 0;
	return err;
}

static void seal(struct pcce_record *rec)
{
	rec->crc = 0;
	rec->crc = libdeflate_crc32(0, rec, rec->size);
}

/* Packs the buffer. NULL: that saves nothing, or there is no memory. */
static struct pcce_rec_packed *pack(struct datafile_writer *w)
{
	struct pcce_rec_packed *p;
	size_t size;

	if (w->used <= sizeof(*p))
		return NULL;
	p = malloc(w->used);
	if (!p)
		return NULL;
	size = libdeflate_deflate_compress(w->compressor, w->buf, w->used, p + 1,
					   w->used - sizeof(*p));
	if (!size) {
		free(p);
		return NULL;
	}
	*p = (struct pcce_rec_packed){
		.rec.type = PCCE_REC_PACKED,
		.rec.size = (uint32_t)((sizeof(*p) + size + 7) & ~(size_t)7),
		.packed = (uint32_t)size,
		.unpacked = (uint32_t)w->used,
	};
	memset((uint8_t *)(p + 1) + size, 0, p->rec.size - sizeof(*p) - size);
	seal(&p->rec);
	return p;
}

int datafile_flush(struct datafile_writer *w)
{
	struct pcce_rec_packed *packed;
	int err = w->error;

	if (!err && !w->written)
		err = write_out(w, &head, sizeof(head));
	if (err || !w->used)
		return err;
	packed = pack(w);
	if (packed) {
		err = write_out(w, packed, packed->rec.size);
		free(packed);
	} else {
		for (size_t at = 0; at < w->used; at += ((struct pcce_record *)(w->buf + at))->size)
			seal((struct pcce_record *)(w->buf + at));
		err = write_out(w, w->buf, w->used);
	}
	w->used = 0;
	return err;
}

static int reserve_buffer(struct datafile_writer *w, size_t size)
{
	uint8_t *grown;
	int err;

	if (w->used + size <= BUFFER)
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

static void release(struct datafile_writer *w)
{
	libdeflate_free_compressor(w->compressor);
	free(w->name);
	free(w->buf);
	free(w);
}

int datafile_writer_new(int fd, const char *name, struct datafile_writer **out)
{
	struct datafile_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->name = strdup(name);
	w->buf = malloc(BUFFER);
	w->capacity = BUFFER;
	w->compressor = libdeflate_alloc_compressor(LEVEL);
	if (!w->name || !w->buf || !w->compressor) {
		release(w);
		return -ENOMEM;
	}
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
	return (w->written ? w->written : sizeof(head)) + w->used;
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
	release(w);
	return err;
}

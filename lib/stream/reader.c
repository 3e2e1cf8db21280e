/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the records of pcce.data through a sliding window of the file: [start, end) of buf. The
 * window grows to the largest record. start is always a multiple of 8 from buf, so that records can
 * be handed out in place.
 *
 * A crash or a full disk can cut off the last record: the reader drops it and counts its bytes. It
 * does the same with a tail of zeros, which some file systems leave after a power failure. Anything
 * else that is not well formed is an error, because nothing after it can be trusted.
 *
 * A damaged size could look like a cut-off tail. Therefore the reader first checks that a record's
 * size is possible for its type.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libdeflate.h>

#include "stream/reader.h"
#include "stream/record_check.h"

#define WINDOW (1u << 20)
#define MOST_GAIN 1032 /* times that deflate can save, at most */

/* The records of a packed one: [start, end) of bytes. */
struct unpacked {
	uint8_t *bytes;
	size_t start, end, capacity;
	uint32_t packed; /* bytes of the packed record */
};

struct datafile_reader {
	int fd; /* -1: memory */
	char *name;
	uint8_t *owned;
	const uint8_t *buf;
	size_t start, end, capacity;
	uint64_t position; /* file offset of buf[start] */
	uint64_t last;	   /* file offset of the record given last, or of the one that it is in */
	bool eof;
	struct record_check check; /* of the records so far */
	bool may_pack;
	struct unpacked in;
	struct libdeflate_decompressor *decompressor;
	uint32_t bytes; /* that the record given last takes in the file */
	uint64_t dropped, unknown;
	char error[512];
};

static int set_error(struct datafile_reader *r, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* format: why the file cannot be read. */
static int set_error(struct datafile_reader *r, int err, const char *format, ...)
{
	va_list args;
	int n = snprintf(r->error, sizeof(r->error), "cannot read %s: ", r->name);

	if (n < 0 || (size_t)n >= sizeof(r->error))
		return err;
	va_start(args, format);
	vsnprintf(r->error + n, sizeof(r->error) - (size_t)n, format, args);
	va_end(args);
	return err;
}

/* Makes at least need bytes available at buf[start], if the file has them. */
static int fill_window(struct datafile_reader *r, size_t need)
{
	if (r->end - r->start >= need || r->eof)
		return 0;
	if (r->fd < 0) {
		r->eof = true;
		return 0;
	}
	if (r->start) {
		memmove(r->owned, r->owned + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	while (r->end < need) {
		ssize_t got;

		/* Doubles instead of trusting the size: a huge one must not cost memory that the
		 * file does not fill. */
		if (r->end == r->capacity) {
			size_t larger = r->capacity * 2;
			uint8_t *grown = realloc(r->owned, larger);

			if (!grown)
				return set_error(r, -ENOMEM,
						 "out of memory for a record of %zu bytes", need);
			r->buf = r->owned = grown;
			r->capacity = larger;
		}
		got = read(r->fd, r->owned + r->end, r->capacity - r->end);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int err = -errno;

			return set_error(r, err, "%s", strerror(-err));
		}
		if (!got) {
			r->eof = true;
			break;
		}
		r->end += (size_t)got;
	}
	return 0;
}

static int check_file_header(struct datafile_reader *r)
{
	struct pcce_file_header h;
	size_t have;
	int err = fill_window(r, sizeof(h));

	if (err)
		return err;
	have = r->end - r->start;
	if (!have)
		return set_error(r, -EINVAL, "it is empty; record again");
	memset(&h, 0, sizeof(h));
	memcpy(&h, r->buf + r->start, have < sizeof(h) ? have : sizeof(h));
	if (!memcmp(&h, "PERFILE2", 8) || !memcmp(&h, "2ELIFREP", 8))
		return set_error(r, -EINVAL,
				 "it is a perf.data file, not a recording of pcce-record; use perf "
				 "report");
	if (!memcmp(&h, "\177ELF", 4))
		return set_error(r, -EINVAL,
				 "it is a program (ELF file), not a recording; record it with "
				 "pcce-record -- %s",
				 r->name);
	if (h.magic == __builtin_bswap64(PCCE_FILE_MAGIC))
		return set_error(r, -EINVAL,
				 "it was recorded on a big-endian machine, and this pcce reads "
				 "little-endian recordings");
	if (h.magic != PCCE_FILE_MAGIC)
		return set_error(r, -EINVAL,
				 "it is not a recording of pcce-record; its first bytes are not "
				 "\"PCCEDATA\"");
	if (have < sizeof(h))
		return set_error(r, -EINVAL,
				 "it is cut off in its header after %zu bytes; record again", have);
	if (h.byte_order != PCCE_FILE_BYTE_ORDER)
		return set_error(r, -EINVAL,
				 "it has the byte order mark %#" PRIx32
				 ", which this pcce does not know",
				 h.byte_order);
	if (h.version != PCCE_FILE_VERSION)
		return set_error(r, -EINVAL,
				 "it has format version %" PRIu32
				 ", and this pcce reads version %d; record again",
				 h.version, PCCE_FILE_VERSION);
	if (h.features & ~(uint64_t)PCCE_FEATURE_PACKED)
		return set_error(r, -EINVAL,
				 "it needs features %#" PRIx64
				 " that this pcce does not have; use a newer pcce",
				 (uint64_t)h.features & ~(uint64_t)PCCE_FEATURE_PACKED);
	if (h.header_size < sizeof(h) || h.header_size > 4096 || h.header_size % 8)
		return set_error(r, -EINVAL,
				 "its header has an impossible size of %" PRIu32 " bytes",
				 h.header_size);
	err = fill_window(r, h.header_size);
	if (err)
		return err;
	if (r->end - r->start < h.header_size)
		return set_error(r, -EINVAL,
				 "it is cut off in its header after %zu bytes; record again",
				 r->end - r->start);
	r->may_pack = h.features & PCCE_FEATURE_PACKED;
	r->start += h.header_size;
	r->position += h.header_size;
	return 0;
}

static int open_reader(struct datafile_reader *r, const char *name, struct datafile_reader **out,
		       struct error *why)
{
	int err;

	r->name = strdup(name);
	err = r->name ? check_file_header(r) : -ENOMEM;
	if (err) {
		error_set(why, 0, "%s", r->name ? r->error : "out of memory");
		datafile_close(r);
		return err;
	}
	*out = r;
	return 0;
}

int datafile_open(const char *path, struct datafile_reader **out, struct error *why)
{
	return datafile_open_as(path, path, out, why);
}

int datafile_open_as(const char *path, const char *name, struct datafile_reader **out,
		     struct error *why)
{
	struct datafile_reader *r = calloc(1, sizeof(*r));
	struct stat st;
	int err;

	if (!r)
		goto no_memory;
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0) {
		err = -errno;
		error_set(why, 0, "cannot open %s: %s%s", name, strerror(-err),
			  err == -ENOENT ? "; record one with pcce-record" : "");
		free(r);
		return err;
	}
	if (!fstat(r->fd, &st) && S_ISDIR(st.st_mode)) {
		error_set(why, 0, "cannot read %s: it is a directory, not a recording", name);
		datafile_close(r);
		return -EISDIR;
	}
	r->capacity = WINDOW;
	r->buf = r->owned = malloc(WINDOW);
	if (!r->owned) {
		datafile_close(r);
		goto no_memory;
	}
	return open_reader(r, name, out, why);
no_memory:
	return error_set(why, -ENOMEM, "cannot read %s: out of memory", name);
}

int datafile_open_memory(const void *data, size_t size, const char *name,
			 struct datafile_reader **out, struct error *why)
{
	struct datafile_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return error_set(why, -ENOMEM, "cannot read %s: out of memory", name);
	r->fd = -1;
	r->buf = data;
	r->end = r->capacity = size;
	return open_reader(r, name, out, why);
}

void datafile_close(struct datafile_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	libdeflate_free_decompressor(r->decompressor);
	free(r->in.bytes);
	free(r->owned);
	free(r->name);
	free(r);
}

const char *datafile_string(const struct pcce_record *rec, unsigned int i)
{
	const struct record_shape *shape = record_shape(rec->type);
	const char *s;

	if (!shape || i >= shape->n_strings)
		return "";
	s = (const char *)rec + shape->fixed;
	while (i--)
		s += strlen(s) + 1;
	return s;
}

/* Returns the end of a name: a comma or the end of the list. cpu/event=1,umask=2/:u is one name. A
 * colon ends that: behind it are tracepoints, and files, whose names have slashes. */
static const char *end_of_event(const char *at)
{
	bool inside = false, colon = false;

	for (; *at && (*at != ',' || inside); at++) {
		colon |= *at == ':' && !inside;
		inside ^= *at == '/' && !colon;
	}
	return at;
}

const char *datafile_event(const char *events, uint32_t event, size_t *length)
{
	const char *at = events, *end;

	for (;; at = end + 1) {
		end = end_of_event(at);
		if (!event-- || !*end)
			break;
	}
	*length = (size_t)(end - at);
	return at;
}

uint32_t datafile_events(const char *events)
{
	uint32_t n = 0;

	for (const char *at = events;; at++) {
		at = end_of_event(at);
		if (++n == DATAFILE_EVENTS || !*at)
			return n;
	}
}

static bool skip_zeros(struct datafile_reader *r, uint64_t *count)
{
	for (;;) {
		size_t i;

		for (i = r->start; i < r->end; i++)
			if (r->buf[i])
				return false;
		*count += r->end - r->start;
		r->start = r->end;
		if (fill_window(r, 1) || r->start == r->end)
			return r->eof;
	}
}

static int drop_tail(struct datafile_reader *r)
{
	r->dropped = r->end - r->start;
	r->start = r->end;
	return 0;
}

static uint32_t crc_of(const struct pcce_record *rec)
{
	struct pcce_record head = *rec;
	uint32_t crc;

	head.crc = 0;
	crc = libdeflate_crc32(0, &head, sizeof(head));
	return libdeflate_crc32(crc, rec + 1, rec->size - sizeof(head));
}

static const char *name_of(const struct pcce_record *rec)
{
	const struct record_shape *shape = record_shape(rec->type);

	return shape ? shape->name : "unknown";
}

/* The next record in the file itself. 1, 0 at the end, or -errno. */
static int next_in_file(struct datafile_reader *r, const struct pcce_record **out)
{
	const struct pcce_record *rec;
	int err = fill_window(r, sizeof(*rec));

	if (err)
		return err;
	if (r->start == r->end)
		return 0;
	if (r->check.complete)
		return set_error(r, -EINVAL,
				 "it goes on after its end record at byte %" PRIu64
				 ": the file is damaged",
				 r->position);
	if (r->end - r->start < sizeof(*rec))
		return drop_tail(r);
	rec = (const struct pcce_record *)(r->buf + r->start);
	if (!rec->type && !rec->size && !rec->crc && !rec->reserved) {
		if (skip_zeros(r, &r->dropped))
			return 0;
		return set_error(r, -EINVAL,
				 "the record at byte %" PRIu64 " is empty: the file is damaged",
				 r->position);
	}
	if (!record_check_size(rec->type, rec->size))
		return set_error(r, -EINVAL,
				 "the %s record at byte %" PRIu64
				 " has an impossible size of %" PRIu32
				 " bytes: the file is damaged",
				 name_of(rec), r->position, rec->size);
	err = fill_window(r, rec->size);
	if (err)
		return err;
	rec = (const struct pcce_record *)(r->buf + r->start);
	if (r->end - r->start < rec->size)
		return drop_tail(r);
	if (crc_of(rec) != rec->crc)
		return set_error(r, -EINVAL,
				 "the %s record at byte %" PRIu64
				 " has a wrong checksum: the file is damaged",
				 name_of(rec), r->position);
	r->last = r->position;
	r->start += rec->size;
	r->position += rec->size;
	r->bytes = rec->size;
	*out = rec;
	return 1;
}

/* NULL, or what is wrong. */
static const char *check_packed(const struct datafile_reader *r, const struct pcce_rec_packed *p)
{
	if (!r->may_pack)
		return "is one that its header does not announce";
	if (p->packed > p->rec.size - sizeof(*p) || p->rec.size - sizeof(*p) - p->packed >= 8)
		return "has another size than it says";
	if (p->unpacked % 8 || !p->unpacked || p->unpacked > PCCE_RECORD_MAX ||
	    p->unpacked / MOST_GAIN > p->packed)
		return "has an impossible size when it is unpacked";
	return NULL;
}

static int unpack(struct datafile_reader *r, const struct pcce_rec_packed *p)
{
	struct unpacked *in = &r->in;
	const char *what = check_packed(r, p);

	if (!what && p->unpacked > in->capacity) {
		free(in->bytes);
		in->bytes = malloc(p->unpacked);
		in->capacity = in->bytes ? p->unpacked : 0;
	}
	if (!what && !r->decompressor)
		r->decompressor = libdeflate_alloc_decompressor();
	if (!what && (!in->bytes || !r->decompressor))
		return set_error(r, -ENOMEM, "out of memory for %" PRIu32 " bytes of records",
				 p->unpacked);
	if (!what && libdeflate_deflate_decompress(r->decompressor, p + 1, p->packed, in->bytes,
						   p->unpacked, NULL))
		what = "cannot be unpacked";
	if (what)
		return set_error(r, -EINVAL,
				 "the packed record at byte %" PRIu64 " %s: the file is damaged",
				 r->last, what);
	in->start = 0;
	in->end = p->unpacked;
	in->packed = p->rec.size;
	return 0;
}

/* The next one of the unpacked records. 1 or -errno. */
static int next_unpacked(struct datafile_reader *r, const struct pcce_record **out)
{
	struct unpacked *in = &r->in;
	const struct pcce_record *rec = (const struct pcce_record *)(in->bytes + in->start);
	size_t left = in->end - in->start, before;
	const char *what = NULL;

	if (left < sizeof(*rec) || rec->size > left || !record_check_size(rec->type, rec->size))
		what = "has an impossible size";
	else if (rec->type == PCCE_REC_PACKED)
		what = "is packed twice";
	else if (rec->crc)
		what = "has a checksum";
	else if (r->check.complete)
		what = "comes after the end record";
	if (what)
		return set_error(r, -EINVAL,
				 "a record in the packed record at byte %" PRIu64
				 " %s: the file is damaged",
				 r->last, what);
	before = in->start * in->packed / in->end;
	in->start += rec->size;
	r->bytes = (uint32_t)(in->start * in->packed / in->end - before);
	*out = rec;
	return 1;
}

int datafile_next(struct datafile_reader *r, const struct pcce_record **out)
{
	for (;;) {
		const struct pcce_record *rec = NULL;
		const char *what;
		int more = r->in.start < r->in.end ? next_unpacked(r, &rec) : next_in_file(r, &rec);

		if (more <= 0)
			return more;
		if (rec->type == PCCE_REC_PACKED) {
			more = unpack(r, (const struct pcce_rec_packed *)rec);
			if (more)
				return more;
			continue;
		}
		what = record_check(&r->check, rec);
		if (what)
			return set_error(r, -EINVAL,
					 "the %s record at byte %" PRIu64
					 " %s: the file is damaged",
					 name_of(rec), r->last, what);
		if (!record_shape(rec->type)) {
			r->unknown++;
			continue;
		}
		*out = rec;
		return 1;
	}
}

const char *datafile_error(const struct datafile_reader *r)
{
	return r->error;
}

uint64_t datafile_position(const struct datafile_reader *r)
{
	return r->last;
}

uint32_t datafile_bytes(const struct datafile_reader *r)
{
	return r->bytes;
}

uint64_t datafile_total(const struct datafile_reader *r)
{
	struct stat st;

	return r->fd >= 0 && !fstat(r->fd, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

bool datafile_complete(const struct datafile_reader *r)
{
	return r->check.complete;
}

uint64_t datafile_dropped(const struct datafile_reader *r)
{
	return r->dropped;
}

uint64_t datafile_unknown(const struct datafile_reader *r)
{
	return r->unknown;
}

bool datafile_sample(const struct pcce_record *rec, struct stream_event *out)
{
	const struct pcce_rec_sample *sample = (const void *)rec;
	const struct pcce_rec_sum *sum = (const void *)rec;
	const struct pcce_rec_context *context = (const void *)rec;

	if (rec->type == PCCE_REC_SAMPLE)
		*out = (struct stream_event){.sample = &sample->sample,
					     .samples = 1,
					     .weight = sample->sample.weight ? sample->sample.weight
									     : 1};
	else if (rec->type == PCCE_REC_SUM)
		*out = (struct stream_event){.sample = &sum->sample,
					     .samples = sum->samples,
					     .weight = sum->weight,
					     .aggregated = true};
	else if (rec->type == PCCE_REC_CONTEXT)
		*out = (struct stream_event){.sample = &context->sample,
					     .samples = context->samples,
					     .weight = context->weight,
					     .error = context->error,
					     .key = (const uint64_t *)context->key,
					     .aggregated = true};
	else
		return false;
	out->number = out->sample->event;
	return true;
}

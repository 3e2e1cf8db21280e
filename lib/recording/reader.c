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

#include "recording/reader.h"
#include <pcce/sample.h>

#define WINDOW (1u << 20)
#define SMALL_MAX (1u << 20)	 /* records that hold only fields and strings */
#define INFO_MAX (4u << 20)	 /* a command line may be long */
#define STACK_MAX 65536u	 /* return addresses in one sample */
#define MOST_COUNTERS (1u << 30) /* of a summary */
/* An aggregated sample brings all segments that it needs. */
#define SUM_MAX                                                        \
	((uint32_t)(sizeof(struct pcce_rec_sum) +                      \
		    PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) + \
		    PCCE_AREA_SEGMENTS * sizeof(struct pcce_segment) + \
		    STACK_MAX * sizeof(uint64_t)))

struct datafile_reader {
	int fd; /* -1: memory */
	char *name;
	uint8_t *owned;
	const uint8_t *buf;
	size_t start, end, capacity;
	uint64_t position; /* file offset of buf[start] */
	uint64_t last;	   /* file offset of the record given last */
	bool eof, complete;
	bool summary; /* a HOT record was met */
	uint64_t dropped, unknown, records;
	uint32_t n_modules;
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
	if (h.features)
		return set_error(r, -EINVAL,
				 "it needs features %#" PRIx64
				 " that this pcce does not have; use a newer pcce",
				 (uint64_t)h.features);
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
	free(r->owned);
	free(r->name);
	free(r);
}

struct shape {
	const char *name;
	uint32_t fixed, max;
	unsigned int n_strings;
};

static const struct shape shapes[] = {
	[PCCE_REC_INFO] = {"info", sizeof(struct pcce_rec_info), INFO_MAX, 5},
	[PCCE_REC_PROCESS] = {"process", sizeof(struct pcce_rec_process), SMALL_MAX, 1},
	[PCCE_REC_THREAD] = {"thread", sizeof(struct pcce_rec_thread), SMALL_MAX, 1},
	[PCCE_REC_MODULE] = {"module", sizeof(struct pcce_rec_module), SMALL_MAX, 1},
	[PCCE_REC_MAP] = {"map", sizeof(struct pcce_rec_map), sizeof(struct pcce_rec_map), 0},
	[PCCE_REC_TABLE] = {"table", sizeof(struct pcce_rec_table), PCCE_RECORD_MAX, 0},
	[PCCE_REC_SAMPLE] = {"sample", sizeof(struct pcce_rec_sample),
			     sizeof(struct pcce_rec_sample) +
				     PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +
				     PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment) +
				     STACK_MAX * 8,
			     0},
	[PCCE_REC_LOST] = {"loss", sizeof(struct pcce_rec_lost), sizeof(struct pcce_rec_lost), 0},
	[PCCE_REC_SYMBOL] = {"symbol", sizeof(struct pcce_rec_symbol), SMALL_MAX, 2},
	[PCCE_REC_END] = {"end", sizeof(struct pcce_rec_end), sizeof(struct pcce_rec_end), 0},
	[PCCE_REC_DUE] = {"due", sizeof(struct pcce_rec_due), sizeof(struct pcce_rec_due), 0},
	[PCCE_REC_FRAMES] = {"frames", sizeof(struct pcce_rec_frames),
			     sizeof(struct pcce_rec_frames), 0},
	[PCCE_REC_SUM] = {"sum", sizeof(struct pcce_rec_sum), SUM_MAX, 0},
	[PCCE_REC_HOT] = {"summary", sizeof(struct pcce_rec_hot), sizeof(struct pcce_rec_hot), 0},
	[PCCE_REC_COUNTED] = {"counted", sizeof(struct pcce_rec_counted),
			      sizeof(struct pcce_rec_counted), 0},
	[PCCE_REC_ONLY] = {"only", sizeof(struct pcce_rec_only), SMALL_MAX, 1},
	[PCCE_REC_CONTEXT] = {"context", sizeof(struct pcce_rec_context),
			      SUM_MAX + sizeof(struct pcce_rec_context) -
				      sizeof(struct pcce_rec_sum),
			      0},
};

static const struct shape *shape_of(uint32_t type)
{
	if (type >= sizeof(shapes) / sizeof(shapes[0]) || !shapes[type].name)
		return NULL;
	return &shapes[type];
}

const char *datafile_string(const struct pcce_record *rec, unsigned int i)
{
	const struct shape *shape = shape_of(rec->type);
	const char *s;

	if (!shape || i >= shape->n_strings)
		return "";
	s = (const char *)rec + shape->fixed;
	while (i--)
		s += strlen(s) + 1;
	return s;
}

const char *datafile_event(const char *events, uint32_t event, size_t *length)
{
	const char *at = events, *end;
	int depth;

	/* cpu/event=1,umask=2/ is one name */
	for (;; at = end + 1) {
		for (end = at, depth = 0; *end && (*end != ',' || depth); end++)
			depth ^= *end == '/';
		if (!event-- || !*end)
			break;
	}
	*length = (size_t)(end - at);
	return at;
}

static int set_damage(struct datafile_reader *r, const struct shape *shape, const char *what)
{
	return set_error(r, -EINVAL, "the %s record at byte %" PRIu64 " %s: the file is damaged",
			 shape->name, r->position, what);
}

static int check_strings(struct datafile_reader *r, const struct shape *shape,
			 const struct pcce_record *rec)
{
	const char *s = (const char *)rec + shape->fixed;
	const char *end = (const char *)rec + rec->size;
	unsigned int i;

	for (i = 0; i < shape->n_strings; i++) {
		const char *nul = memchr(s, 0, (size_t)(end - s));

		if (!nul)
			return set_damage(r, shape, "has a string without an end");
		s = nul + 1;
	}
	if (end - s >= 8)
		return set_damage(r, shape, "is larger than its strings");
	while (s < end)
		if (*s++)
			return set_damage(r, shape, "has no zeros after its strings");
	return 0;
}

static int check_sample(struct datafile_reader *r, const struct shape *shape,
			const struct pcce_record *rec)
{
	const struct pcce_sample *s = &((const struct pcce_rec_sample *)rec)->sample;

	if (!pcce_sample_counts_are_possible(s, STACK_MAX))
		return set_damage(r, shape, "has counts that no sample can have");
	if (rec->size != sizeof(struct pcce_rec_sample) - sizeof(*s) + pcce_sample_size(s))
		return set_damage(r, shape, "has another size than its counts say");
	return 0;
}

static int check_sum(struct datafile_reader *r, const struct shape *shape,
		     const struct pcce_record *rec)
{
	const struct pcce_rec_sum *sum = (const struct pcce_rec_sum *)rec;

	if (!sum->samples)
		return set_damage(r, shape, "counts no samples");
	if (!pcce_sample_counts_agree(&sum->sample, PCCE_AREA_SEGMENTS,
				      sum->sample.flags & PCCE_SAMPLE_FRAMES ? STACK_MAX : 0))
		return set_damage(r, shape, "has counts that no sample can have");
	if (rec->size != sizeof(*sum) - sizeof(sum->sample) + pcce_sample_size(&sum->sample))
		return set_damage(r, shape, "has another size than its counts say");
	return 0;
}

static int check_context(struct datafile_reader *r, const struct shape *shape,
			 const struct pcce_record *rec)
{
	const struct pcce_rec_context *c = (const struct pcce_rec_context *)rec;
	uint64_t high;

	if (!c->samples)
		return set_damage(r, shape, "counts no samples");
	if (__builtin_add_overflow(c->weight, c->error, &high))
		return set_damage(r, shape, "has an impossible error");
	if (!pcce_sample_counts_agree(&c->sample, PCCE_AREA_SEGMENTS, 0))
		return set_damage(r, shape, "has counts that no sample can have");
	if (rec->size != sizeof(*c) - sizeof(c->sample) + pcce_sample_size(&c->sample))
		return set_damage(r, shape, "has another size than its counts say");
	return 0;
}

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static int check_summary(struct datafile_reader *r, const struct shape *shape,
			 const struct pcce_record *rec)
{
	const struct pcce_rec_hot *h = (const struct pcce_rec_hot *)rec;
	double phi = double_of(h->phi), epsilon = double_of(h->epsilon);

	if (r->summary)
		return set_damage(r, shape, "is the second one");
	if (!(phi > 0 && phi <= 1 && epsilon > 0 && epsilon < phi))
		return set_damage(r, shape, "has impossible parameters");
	if (h->flags & ~PCCE_HOT_PER_THREAD)
		return set_damage(r, shape, "has flags that this version does not know");
	if (!h->counters || h->counters > MOST_COUNTERS || h->offset > h->weight / h->counters)
		return set_damage(r, shape, "has an impossible bound");
	r->summary = true;
	return 0;
}

static int check_record(struct datafile_reader *r, const struct shape *shape,
			const struct pcce_record *rec)
{
	uint32_t module = PCCE_MODULE_NONE;
	const struct pcce_rec_module *m;
	const struct pcce_rec_map *map;

	if (!r->records && rec->type != PCCE_REC_INFO)
		return set_damage(r, shape, "comes before the info record");
	switch (rec->type) {
	case PCCE_REC_INFO:
		if (r->records)
			return set_damage(r, shape, "is not the first");
		break;
	case PCCE_REC_MODULE:
		m = (const struct pcce_rec_module *)rec;
		if (m->module != r->n_modules)
			return set_damage(r, shape, "is out of order");
		if (m->build_id_size > sizeof(m->build_id))
			return set_damage(r, shape, "has an impossible build id size");
		break;
	case PCCE_REC_MAP:
		map = (const struct pcce_rec_map *)rec;
		if (map->start + map->length < map->start)
			return set_damage(r, shape, "reaches beyond the address space");
		module = map->module;
		break;
	case PCCE_REC_TABLE:
		module = ((const struct pcce_rec_table *)rec)->module;
		if (module == PCCE_MODULE_NONE)
			return set_damage(r, shape, "belongs to no module");
		break;
	case PCCE_REC_SAMPLE:
		return check_sample(r, shape, rec);
	case PCCE_REC_SUM:
		return check_sum(r, shape, rec);
	case PCCE_REC_CONTEXT:
		return check_context(r, shape, rec);
	case PCCE_REC_HOT:
		return check_summary(r, shape, rec);
	case PCCE_REC_SYMBOL:
		module = ((const struct pcce_rec_symbol *)rec)->module;
		if (module == PCCE_MODULE_NONE)
			return set_damage(r, shape, "belongs to no module");
		break;
	}
	if (module != PCCE_MODULE_NONE && module >= r->n_modules)
		return set_damage(r, shape, "names a module that does not exist");
	return shape->n_strings ? check_strings(r, shape, rec) : 0;
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

int datafile_next(struct datafile_reader *r, const struct pcce_record **out)
{
	for (;;) {
		const struct pcce_record *rec;
		const struct shape *shape;
		int err = fill_window(r, sizeof(*rec));

		if (err)
			return err;
		if (r->start == r->end)
			return 0;
		if (r->complete)
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
					 "the record at byte %" PRIu64
					 " is empty: the file is damaged",
					 r->position);
		}
		shape = shape_of(rec->type);
		if (rec->size < sizeof(*rec) || rec->size > PCCE_RECORD_MAX || rec->size % 8 ||
		    (shape && (rec->size < shape->fixed || rec->size > shape->max)))
			return set_error(r, -EINVAL,
					 "the %s record at byte %" PRIu64
					 " has an impossible size of %" PRIu32
					 " bytes: the file is damaged",
					 shape ? shape->name : "unknown", r->position, rec->size);
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
					 shape ? shape->name : "unknown", r->position);
		if (shape) {
			err = check_record(r, shape, rec);
			if (err)
				return err;
		}
		r->last = r->position;
		r->start += rec->size;
		r->position += rec->size;
		r->records++;
		if (!shape) {
			r->unknown++;
			continue;
		}
		if (rec->type == PCCE_REC_MODULE)
			r->n_modules++;
		else if (rec->type == PCCE_REC_END)
			r->complete = true;
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

uint64_t datafile_total(const struct datafile_reader *r)
{
	struct stat st;

	return r->fd >= 0 && !fstat(r->fd, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

bool datafile_complete(const struct datafile_reader *r)
{
	return r->complete;
}

uint64_t datafile_dropped(const struct datafile_reader *r)
{
	return r->dropped;
}

uint64_t datafile_unknown(const struct datafile_reader *r)
{
	return r->unknown;
}

bool datafile_sample(const struct pcce_record *rec, struct datafile_sample *out)
{
	if (rec->type == PCCE_REC_SAMPLE) {
		const struct pcce_sample *s = &((const struct pcce_rec_sample *)rec)->sample;

		*out = (struct datafile_sample){s, 1, s->weight ? s->weight : 1, 0, NULL};
		return true;
	}
	if (rec->type == PCCE_REC_SUM) {
		const struct pcce_rec_sum *sum = (const struct pcce_rec_sum *)rec;

		*out = (struct datafile_sample){&sum->sample, sum->samples, sum->weight, 0, NULL};
		return true;
	}
	if (rec->type == PCCE_REC_CONTEXT) {
		const struct pcce_rec_context *c = (const struct pcce_rec_context *)rec;

		*out = (struct datafile_sample){&c->sample, c->samples, c->weight, c->error,
						(const uint64_t *)c->key};
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The writer and the reader of pcce.data against each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <libdeflate.h>

#include "tap.h"
#include "stream/reader.h"
#include "stream/writer.h"
#include <pcce/sample.h>

#define SAMPLES 3000

static struct pcce_entry entries[PCCE_SEGMENT_ENTRIES];
static struct pcce_segment segments[7];
static uint64_t stack[100];

static struct pcce_rec_sample make_sample(uint32_t i)
{
	struct pcce_rec_sample s = {.sample = {.time = i,
					       .pid = 7,
					       .tid = 8,
					       .ip = i * 3,
					       .id = i * 5ULL << 30,
					       .weight = 1}};

	s.sample.n_entries = i % (PCCE_SEGMENT_ENTRIES + 1);
	s.sample.n_segments = i % 11 ? 0 : i % 7;
	s.sample.n_below = s.sample.n_segments + i % 3;
	s.sample.below = s.sample.n_below ? 1 + i : 0;
	if (i % 5 == 0) {
		s.sample.flags = PCCE_SAMPLE_STACK;
		s.sample.n_stack = i % 100;
	}
	return s;
}

static int put_sample(struct datafile_writer *w, uint32_t i)
{
	struct pcce_rec_sample s = make_sample(i);
	struct iovec parts[3] = {{entries, s.sample.n_entries * sizeof(*entries)},
				 {segments, s.sample.n_segments * sizeof(*segments)},
				 {stack, s.sample.n_stack * sizeof(*stack)}};

	return datafile_put(w, PCCE_REC_SAMPLE, &s, sizeof(s), parts, 3);
}

static uint8_t random_byte(uint32_t i)
{
	uint64_t x = i * 0x9e3779b97f4a7c15ULL;

	return (uint8_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL >> 56);
}

/* A whole recording; 0 or the first error. */
static int write_all(struct datafile_writer *w)
{
	struct pcce_rec_info info = {.start_time = 1, .frequency = 999};
	struct pcce_rec_module module = {.module = 0, .build_id_size = 20, .build_id = {1, 2, 3}};
	struct pcce_rec_map map = {
		.start = 0x1000, .length = 0x2000, .vaddr = 0x40, .pid = 7, .module = 0};
	struct pcce_rec_table table = {.module = 0};
	struct pcce_rec_end end = {.samples = SAMPLES, .exit_status = 5};
	static uint8_t big[3 << 20];
	struct iovec part = {big, sizeof(big)};
	const char *strings[] = {"bpf", "cpu-clock", "./program with arguments", "", "6.1"},
		   *path = "/bin/x";
	uint32_t i;
	int err;

	/* It cannot be packed. */
	for (i = 0; i < sizeof(big); i++)
		big[i] = random_byte(i);
	err = datafile_put_strings(w, PCCE_REC_INFO, &info, sizeof(info), strings, 5);
	err = err ? err
		  : datafile_put_strings(w, PCCE_REC_MODULE, &module, sizeof(module), &path, 1);
	err = err ? err : datafile_put(w, PCCE_REC_MAP, &map, sizeof(map), NULL, 0);
	err = err ? err : datafile_put(w, PCCE_REC_TABLE, &table, sizeof(table), &part, 1);
	for (i = 0; i < SAMPLES && !err; i++)
		err = put_sample(w, i);
	return err ? err : datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
}

static void check_sample(const struct pcce_rec_sample *got, uint32_t i, bool *good)
{
	struct pcce_rec_sample want = make_sample(i);

	want.rec = got->rec;
	*good &= !memcmp(got, &want, sizeof(want)) &&
		 !memcmp(pcce_sample_entries(&got->sample), entries,
			 want.sample.n_entries * sizeof(*entries)) &&
		 !memcmp(pcce_sample_segments(&got->sample), segments,
			 want.sample.n_segments * sizeof(*segments)) &&
		 !memcmp(pcce_sample_stack(&got->sample), stack,
			 want.sample.n_stack * sizeof(*stack));
}

static void test_round_trip(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err, got;
	const struct pcce_record *rec;
	struct datafile_writer *w;
	struct datafile_reader *r;
	uint32_t samples = 0;
	bool good = true, strings = false, table = false;
	struct error why;

	datafile_writer_new(fd, path, &w);
	err = write_all(w);
	tap_ok(!err && !datafile_writer_close(w), "write a recording", "error %d", err);
	if (!tap_ok(!datafile_open(path, &r, &why), "open it", "%s", why.text))
		return;
	while ((got = datafile_next(r, &rec)) > 0) {
		size_t size;

		if (rec->type == PCCE_REC_SAMPLE)
			check_sample((const struct pcce_rec_sample *)rec, samples++, &good);
		if (rec->type == PCCE_REC_INFO)
			strings = !strcmp(datafile_string(rec, 0), "bpf") &&
				  !strcmp(datafile_string(rec, 2), "./program with arguments") &&
				  !strcmp(datafile_string(rec, 3), "") &&
				  !strcmp(datafile_string(rec, 4), "6.1");
		if (rec->type == PCCE_REC_TABLE)
			table = ((const uint8_t *)datafile_table((const struct pcce_rec_table *)rec,
								 &size))[1000] ==
					random_byte(1000) &&
				size == 3 << 20;
	}
	tap_ok(!got, "read it", "%s", datafile_error(r));
	tap_ok(samples == SAMPLES && good, "its samples are what was written", "%u samples",
	       samples);
	tap_ok(strings, "its strings, too", "they differ");
	tap_ok(table, "and its table", "it differs");
	tap_ok(datafile_complete(r) && !datafile_dropped(r) && !datafile_unknown(r),
	       "it is complete", "it is not");
	datafile_close(r);
}

/* A file that ends anywhere is read up to there. */
static void test_every_end(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static uint8_t bytes[8 << 20];
	ssize_t size = read(fd, bytes, sizeof(bytes)), end;
	uint64_t wrong = 0, tried = 0;

	close(fd);
	for (end = 32; end < size; end += end < 400 || end > size - 3000 ? 1 : 20011) {
		const struct pcce_record *rec;
		struct datafile_reader *r;
		uint64_t sum = 32;
		struct error why;
		int got;

		tried++;
		if (datafile_open_memory(bytes, (size_t)end, "memory", &r, &why)) {
			wrong++;
			continue;
		}
		while ((got = datafile_next(r, &rec)) > 0)
			sum += datafile_bytes(r);
		wrong += got || sum + datafile_dropped(r) != (uint64_t)end || datafile_complete(r);
		datafile_close(r);
	}
	tap_ok(!wrong && tried > 500, "a file that was cut off anywhere is read up to there",
	       "%llu of %llu were not", (unsigned long long)wrong, (unsigned long long)tried);
}

/* A disk that is full after limit bytes. */
static void test_full_disk(const char *path, rlim_t limit)
{
	struct rlimit old, low;
	const struct pcce_record *rec;
	struct datafile_writer *w;
	struct datafile_reader *r;
	int fd, err, got, again;
	uint64_t records = 0;
	struct error why;
	char name[128], message[512];

	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = limit;
	signal(SIGXFSZ, SIG_IGN);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	datafile_writer_new(fd, path, &w);
	setrlimit(RLIMIT_FSIZE, &low);
	err = write_all(w);
	if (!err)
		err = datafile_flush(w);
	again = put_sample(w, 1);
	snprintf(message, sizeof(message), "%s", datafile_writer_error(w));
	datafile_writer_close(w);
	setrlimit(RLIMIT_FSIZE, &old);
	snprintf(name, sizeof(name), "a disk that is full after %llu bytes is an error",
		 (unsigned long long)limit);
	tap_ok(err == -EFBIG && again == err && strstr(message, "saved"), name, "%d, %d, %s", err,
	       again, message);

	err = datafile_open(path, &r, &why);
	if (err) {
		tap_ok(limit < 200, "what was written before can be read", "%s", why.text);
		return;
	}
	while ((got = datafile_next(r, &rec)) > 0)
		records++;
	tap_ok(!got && !datafile_dropped(r) && !datafile_complete(r) &&
		       (records > 0 || limit < 200),
	       "what was written before can be read", "%s: %llu records, %llu bytes dropped",
	       datafile_error(r), (unsigned long long)records,
	       (unsigned long long)datafile_dropped(r));
	datafile_close(r);
}

static void test_full_device(void)
{
	struct datafile_writer *w;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC), err;

	if (fd < 0) {
		printf("ok %d - a full device # SKIP there is no /dev/full\n", ++tap_tests);
		return;
	}
	datafile_writer_new(fd, "/dev/full", &w);
	err = write_all(w);
	tap_ok(err == -ENOSPC && strstr(datafile_writer_error(w), "No space left"),
	       "a full device is an error", "%d, %s", err, datafile_writer_error(w));
	datafile_writer_close(w);
}

/* Records that a later version might add. */
static void test_unknown(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), got;
	struct pcce_rec_info info = {.frequency = 1};
	struct pcce_rec_end end = {.samples = 0}, new = {.samples = 1};
	const char *strings[] = {"", "", "", "", ""};
	const struct pcce_record *rec;
	struct datafile_writer *w;
	struct datafile_reader *r;
	uint64_t records = 0;
	struct error why;

	datafile_writer_new(fd, path, &w);
	datafile_put_strings(w, PCCE_REC_INFO, &info, sizeof(info), strings, 5);
	datafile_put(w, 99, &new, sizeof(new), NULL, 0);
	datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
	datafile_writer_close(w);
	if (!tap_ok(!datafile_open(path, &r, &why), "a file with a new type of record opens", "%s",
		    why.text))
		return;
	while ((got = datafile_next(r, &rec)) > 0)
		records++;
	tap_ok(!got && records == 2 && datafile_unknown(r) == 1, "it is skipped and counted", "%s",
	       datafile_error(r));
	datafile_close(r);
}

/* ---- what no reader would accept ------------------------------------------------- */

/* Reads a file to its end; returns its records, or -errno. */
static int count_records(const char *path)
{
	const struct pcce_record *rec;
	struct datafile_reader *r;
	struct error why;
	int n = 0, got;

	if (datafile_open(path, &r, &why))
		return -EIO;
	while ((got = datafile_next(r, &rec)) > 0)
		n++;
	datafile_close(r);
	return got ? got : n;
}

static void test_refusals(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), refused = 0;
	struct pcce_rec_info info = {.frequency = 1};
	struct pcce_rec_map map = {.start = UINT64_MAX, .length = 2, .module = PCCE_MODULE_NONE};
	struct pcce_rec_sum sum = {.sample = {.pid = 1}};
	struct pcce_rec_sample sample = {.sample = {.n_below = 1, .n_segments = 2}};
	struct pcce_rec_end end = {.samples = 0};
	const char *strings[] = {"", "", "", "", ""};
	struct datafile_writer *w;

	datafile_writer_new(fd, path, &w);
	refused += datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0) == -EBADMSG;
	datafile_put_strings(w, PCCE_REC_INFO, &info, sizeof(info), strings, 5);
	refused += datafile_put(w, PCCE_REC_MAP, &map, sizeof(map), NULL, 0) == -EBADMSG;
	refused += datafile_put(w, PCCE_REC_SUM, &sum, sizeof(sum), NULL, 0) == -EBADMSG;
	refused += datafile_put(w, PCCE_REC_SAMPLE, &sample, sizeof(sample), NULL, 0) == -EBADMSG;
	tap_ok(strstr(datafile_writer_error(w), "has counts that no sample can have") != NULL,
	       "the writer says what it refuses", "%s", datafile_writer_error(w));
	datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
	refused += datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0) == -EBADMSG;
	tap_ok(refused == 5, "it refuses what no reader accepts", "%d of 5", refused);
	tap_ok(!datafile_writer_close(w) && count_records(path) == 2,
	       "all else is written, and can be read", "%d records", count_records(path));
}

/* A command line, or the name of a function, may be longer than a record may be. */
static void test_long_strings(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), n = 0, cut = 0;
	struct pcce_rec_info info = {.frequency = 1};
	struct pcce_rec_module module = {.module = 0};
	struct pcce_rec_symbol symbol = {.module = 0};
	static char line[6 << 20];
	const char *strings[] = {"self", "cpu-clock", line, "", ""};
	const struct pcce_record *rec;
	struct datafile_writer *w;
	struct datafile_reader *r;
	struct error why;

	for (size_t i = 0; i < sizeof(line) - 1; i++)
		line[i] = i % 2 ? '\xa4' : '\xc3'; /* two bytes each */
	datafile_writer_new(fd, path, &w);
	datafile_put_strings(w, PCCE_REC_INFO, &info, sizeof(info), strings, 5);
	datafile_put_strings(w, PCCE_REC_MODULE, &module, sizeof(module), &strings[2], 1);
	strings[3] = line;
	datafile_put_strings(w, PCCE_REC_SYMBOL, &symbol, sizeof(symbol), &strings[2], 2);
	datafile_writer_close(w);
	if (!tap_ok(!datafile_open(path, &r, &why), "a file with long names opens", "%s", why.text))
		return;
	while (datafile_next(r, &rec) > 0) {
		const char *s = datafile_string(rec, rec->type == PCCE_REC_INFO ? 2 : 0);
		size_t length = strlen(s);

		n++;
		cut += length > 400000 && length % 2 && !strcmp(s + length - 5, "\xc3\xa4...");
	}
	tap_ok(n == 3 && cut == 3, "they are cut, between two characters", "%d, %d: %s", n, cut,
	       datafile_error(r));
	datafile_close(r);
}

/* ---- summaries ------------------------------------------------------------------- */

static struct pcce_rec_hot good_summary(void)
{
	struct pcce_rec_hot h = {.samples = 100, .weight = 1000, .offset = 10, .counters = 100};
	double phi = 0.05, epsilon = 0.01;

	memcpy(&h.phi, &phi, sizeof(phi));
	memcpy(&h.epsilon, &epsilon, sizeof(epsilon));
	return h;
}

/* Appends a record as it is: what the writer would refuse, too. */
static int put_raw(int fd, uint32_t type, const void *fixed, size_t size)
{
	struct pcce_rec_context buffer; /* the largest one here */
	struct pcce_record *rec = &buffer.rec;

	memcpy(&buffer, fixed, size);
	*rec = (struct pcce_record){.type = type, .size = (uint32_t)size};
	rec->crc = libdeflate_crc32(0, &buffer, size);
	return write(fd, &buffer, size) == (ssize_t)size ? 0 : -EIO;
}

/* Writes a summary of one context, and reads it. Returns what the reader's last answer is; -EIO
 * also if the writer accepts what the reader does not. */
static int read_summary(const char *path, const struct pcce_rec_hot *h, int times,
			const struct pcce_rec_context *c, struct stream_event *got)
{
	struct pcce_rec_info info = {.start_time = 1};
	const char *const strings[] = {"", "", "", "", ""};
	const struct pcce_record *rec;
	struct datafile_writer *w;
	struct datafile_reader *r;
	struct error why;
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_APPEND, 0600), copy = dup(fd), err;
	int written = 0;

	err = datafile_writer_new(fd, path, &w);
	err = err ? err : datafile_put_strings(w, PCCE_REC_INFO, &info, sizeof(info), strings, 5);
	err = err ? err : datafile_flush(w);
	while (times-- && !err) {
		written = written ? written : datafile_put(w, PCCE_REC_HOT, h, sizeof(*h), NULL, 0);
		err = put_raw(copy, PCCE_REC_HOT, h, sizeof(*h));
	}
	written = written ? written : datafile_put(w, PCCE_REC_CONTEXT, c, sizeof(*c), NULL, 0);
	err = err ? err : put_raw(copy, PCCE_REC_CONTEXT, c, sizeof(*c));
	close(copy);
	if (err || datafile_open(path, &r, &why))
		return -EIO;
	while ((err = datafile_next(r, &rec)) > 0)
		if (rec->type == PCCE_REC_CONTEXT && datafile_sample(rec, got))
			got->sample = NULL;
	datafile_close(r);
	datafile_writer_close(w); /* its records come after those that were read */
	return !err == !written ? err : -EIO;
}

static void test_summary(const char *path)
{
	const struct pcce_rec_context good = {
		.samples = 3, .weight = 30, .error = 5, .key = {1, 2}};
	struct stream_event got = {0};
	struct pcce_rec_context c;
	struct pcce_rec_hot h = good_summary();
	double x;
	int refused = 0;

	tap_ok(!read_summary(path, &h, 1, &good, &got) && got.samples == 3 && got.weight == 30 &&
		       got.error == 5,
	       "a summary is read", "%llu, %llu, %llu", (unsigned long long)got.samples,
	       (unsigned long long)got.weight, (unsigned long long)got.error);
	refused += read_summary(path, &h, 2, &good, &got) == -EINVAL;
	h.offset = 11;
	refused += read_summary(path, &h, 1, &good, &got) == -EINVAL;
	h = good_summary();
	h.counters = 0;
	refused += read_summary(path, &h, 1, &good, &got) == -EINVAL;
	h = good_summary();
	h.phi = h.epsilon;
	refused += read_summary(path, &h, 1, &good, &got) == -EINVAL;
	h = good_summary();
	x = -0.01;
	memcpy(&h.epsilon, &x, sizeof(x));
	refused += read_summary(path, &h, 1, &good, &got) == -EINVAL;
	h = good_summary();
	c = good;
	c.samples = 0;
	refused += read_summary(path, &h, 1, &c, &got) == -EINVAL;
	c = good;
	c.error = UINT64_MAX;
	refused += read_summary(path, &h, 1, &c, &got) == -EINVAL;
	c = good;
	c.sample.n_entries = 1;
	refused += read_summary(path, &h, 1, &c, &got) == -EINVAL;
	tap_ok(refused == 8, "impossible ones are refused", "%d of 8 are", refused);
}

/* A damaged recording may have a list of a million names, and readers visit each name. */
static void test_event_lists(void)
{
	const char *many = "0,1,2,3,4,5,6,7,8,9,10,11";
	size_t length;

	tap_ok(datafile_events("") == 1 && datafile_events("a") == 1 &&
		       datafile_events("a/b=1,c=2/,d,") == 3 && datafile_events("a,b/c,d") == 2 &&
		       datafile_events("uprobe:/a/b/c:f,usdt:./a:b:c,x/y=1,z/:u") == 3 &&
		       datafile_events(many) == DATAFILE_EVENTS,
	       "names of events are counted, but not endlessly", "%u", datafile_events(many));
	tap_ok(*datafile_event(many, 5, &length) == '5' && length == 1 &&
		       *datafile_event("a/b=1,c=2/,d,", 1, &length) == 'd' && length == 1,
	       "names of events are found by their numbers", "%zu", length);
}

int main(void)
{
	static const rlim_t limits[] = {
		20, 100, 1000, 3 << 20, (3 << 20) + 6000, (3 << 20) + 15001};
	const char *dir = getenv("TMPDIR");
	char path[512];
	size_t i;
	int fd;

	memset(segments, 0x5a, sizeof(segments));
	for (i = 0; i < PCCE_SEGMENT_ENTRIES; i++)
		entries[i] = (struct pcce_entry){.id = i * 11, .site = i * 13};
	for (i = 0; i < 100; i++)
		stack[i] = i * 17;
	snprintf(path, sizeof(path), "%s/pcce-datafile.XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	close(fd);
	test_round_trip(path);
	test_every_end(path);
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		test_full_disk(path, limits[i]);
	test_full_device();
	test_unknown(path);
	test_refusals(path);
	test_long_strings(path);
	test_summary(path);
	test_event_lists();
	unlink(path);
	return tap_done();
}

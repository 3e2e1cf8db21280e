/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements pcce-record --count with the interface of a sampler.
 *
 *   probe     reads the program, and plans its changes (plan.c)
 *   prepare   creates the area, whose descriptor the command inherits
 *   start     traces the command
 *   released  puts the engine into the program (inject.c), and closes that descriptor there
 *             begins to answer requests of the program (libraries.c)
 *   stop      makes an aggregated sample of each counter (contexts.c)
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcce/datafile.h>
#include "base/child.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/privilege.h"
#include "count/bursts.h"
#include "count/clock.h"
#include "count/contexts.h"
#include "count/count.h"
#include "count/inject.h"
#include "count/libraries.h"
#include "count/linker.h"
#include "count/places.h"
#include "count/room.h"
#include "encode/encode.h"
#include "probe/place.h"
#include "sampler/sampler.h"
#include "symbols/table_file.h"

#define AREA_MAX (1ULL << 36) /* bytes: numbers of units have 32 bits */

struct sampler {
	uint8_t *image;
	size_t image_size;
	void *table_data; /* NULL: it has none */
	size_t table_size;
	enum table_state state;
	struct elf_module elf;
	struct encoding_table table;
	struct count_plan plan;
	struct count_places *places;
	struct count_linker linker;
	struct count_room room;
	struct count_libraries *libraries;
	char *program;
	int area_fd;
	uint64_t area_size;
	struct pcce_count_area *area;
	pid_t pid;
	bool counts; /* the engine is in the program */
	bool empty, lossy;
	const char *latency;	    /* functions that are timed, with commas; NULL: none are */
	uint64_t cycle;		    /* for struct pcce_count_config */
	uint64_t counters;	    /* for struct pcce_count_config */
	struct count_bursts bursts; /* interval 0: count all the time */
	struct burst_driver *driver;
	struct burst_times times;
	struct inject_result injected;
	struct count_totals totals;
};

/* ---- the program ----------------------------------------------------------------- */

/* The initial value of pcce_page.counted in the executable's thread-local memory; 0: unknown. */
static uint64_t initial_counted(const struct sampler *s)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->image;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(s->image + e->e_phoff);
	uint64_t value = 0;

	if (e->e_phoff > s->image_size || e->e_phnum > (s->image_size - e->e_phoff) / sizeof(*p))
		return 0;
	for (unsigned int i = 0; i < e->e_phnum; i++) {
		uint64_t align = p[i].p_align ? p[i].p_align : 1;
		uint64_t size = (p[i].p_memsz + align - 1) / align * align;
		uint64_t at =
			size + (uint64_t)s->table.head->tpoff + offsetof(struct pcce_page, counted);

		if (p[i].p_type != PT_TLS || at + sizeof(value) > p[i].p_filesz ||
		    p[i].p_offset + at + sizeof(value) > s->image_size)
			continue;
		memcpy(&value, s->image + p[i].p_offset + at, sizeof(value));
	}
	return value;
}

static int open_program_table(struct sampler *s, struct error *why)
{
	struct error reason = {0};
	int err;

	if (!s->table_data)
		return error_set(why, -EINVAL,
				 "%s%s, or set LD_PRELOAD to libpcce.so.0 to count its libraries",
				 table_state_text(s->state),
				 s->state == TABLE_NONE ? "; compile and link it with the flags of "
							  "pcce-config"
							: table_state_remedy(s->state));
	err = encoding_table_open(s->table_data, s->table_size, &s->table, &reason);
	return err ? error_set(why, err, "has an encoding table that %s; link it again",
			       reason.text)
		   : 0;
}

/* Reads the program's encoding table, if there is one. */
static int read_program_table(struct sampler *s, struct error *why)
{
	int fd = open(s->program, O_RDONLY | O_CLOEXEC | O_NOCTTY), err = 0;
	struct table_file file;

	if (fd < 0)
		return error_set(why, -errno, "cannot be read: %s", strerror(errno));
	table_file_find(fd, &s->elf, &file);
	s->state = file.state;
	if (file.state == TABLE_FOUND) {
		s->table_data = elf_section_read(file.fd, &file.section, NULL);
		s->table_size = file.section.size;
		if (!s->table_data)
			err = error_set(why, -EINVAL, "has an encoding table that cannot be read");
	}
	table_file_close(&file);
	close(fd);
	return err;
}

/* Marks the functions of a name. length: of the name. Returns their number; or -ENOMEM. */
static int mark_function(const struct sampler *s, const char *name, size_t length, bool *timed)
{
	const struct encoding_table *t = &s->table;
	char *copy = strndup(name, length);
	int found = copy ? 0 : -ENOMEM;

	for (uint64_t i = 0; copy && i < t->head->funcs.count; i++) {
		if (t->funcs[i].flags & (PCCE_FUNC_TYPE | PCCE_FUNC_GATE) ||
		    !probe_is_named(encoding_table_string(t, t->funcs[i].name), copy))
			continue;
		timed[i] = true;
		found++;
	}
	free(copy);
	return found;
}

/* Returns by number of a function whether it is timed; NULL with a reason. The caller frees it. */
static bool *find_timed(const struct sampler *s, struct error *why)
{
	bool *timed = calloc(s->table.head->funcs.count + 1, sizeof(*timed));

	for (const char *name = s->latency; timed && name;) {
		size_t length = strcspn(name, ",");
		int found = mark_function(s, name, length, timed);

		if (!found)
			error_set(why, -ENOENT,
				  "has no function '%.*s', or it is inlined everywhere; "
				  "pcce-encode --dump lists those that can be timed",
				  (int)length, name);
		if (found <= 0) {
			free(timed);
			return NULL;
		}
		name = name[length] ? name + length + 1 : NULL;
	}
	return timed;
}

static int plan_changes(struct sampler *s, struct error *why)
{
	bool *timed;
	int err;

	if (!s->latency)
		return count_plan_make(&s->elf, &s->table, NULL, &s->plan, why);
	timed = find_timed(s, why);
	if (!timed)
		return *why->text ? -ENOENT : error_memory(why);
	err = count_plan_make(&s->elf, &s->table, timed, &s->plan, why);
	free(timed);
	return err;
}

/* Plans the changes of an instrumented program. */
static int plan_program(struct sampler *s, struct error *why)
{
	int err = open_program_table(s, why);

	if (!err && !(s->table.head->flags & PCCE_TABLE_EXEC))
		err = error_set(why, -EINVAL, "is a shared library; name a program");
	if (!err && s->table.head->flags & PCCE_TABLE_HIDDEN)
		err = error_set(why, -EINVAL,
				"hides its runtime, so its libraries may change its contexts "
				"unseen; let the link export the names in libpcce.exports");
	if (!err && s->table.head->flags & PCCE_TABLE_HYBRID)
		err = error_set(
			why, -EINVAL,
			"has hybrid encoding, whose calls cannot be counted; link it again");
	if (!err && !initial_counted(s))
		err = error_set(why, -EINVAL,
				"has an older pcce runtime, which cannot count; link it again");
	return err ? err : plan_changes(s, why);
}

/* Reads the program and plans its changes. Errors continue the file's name. */
static int open_program(struct sampler *s, struct error *why)
{
	const char *privilege = privilege_of_program(s->program);
	int err;

	if (privilege)
		return error_set(why, -EPERM, "%s; count a copy that cp has made", privilege);
	err = encode_read_file(s->program, &s->image, &s->image_size, why);
	if (!err)
		err = elf_module_open(s->image, s->image_size, &s->elf, why);
	if (!err)
		err = read_program_table(s, why);
	if (err)
		return err;
	count_linker_find(s->image, s->image_size, &s->linker);
	/* Its libraries may be instrumented. */
	if (!s->table_data && !s->latency && s->elf.program && s->linker.debug &&
	    child_preloads_runtime())
		return 0;
	/* Calls of libraries are not timed. */
	if (s->latency)
		s->linker = (struct count_linker){0};
	return plan_program(s, why);
}

static void close_program(struct sampler *s)
{
	count_plan_free(&s->plan);
	encoding_table_close(&s->table);
	elf_module_close(&s->elf);
	free(s->table_data);
	free(s->image);
	free(s->program);
}

/* ---- added code ------------------------------------------------------------------ */

/* The instruction that has the state in which the engine was called, by r11; 0: not known. */
static uint64_t place_in_engine(const struct sampler *s, uint64_t r11)
{
	const struct pcce_count_config *c = &s->injected.config;
	size_t module;

	if (s->plan.module && r11 - PCCE_COUNT_END < s->plan.ends.n)
		return s->plan.ends.list[r11 - PCCE_COUNT_END].slot + s->injected.bias;
	/* The key of a landing, which is behind all numbers of places. */
	if (s->plan.module && r11 >= c->text && r11 < c->text_end)
		return r11;
	return count_places_address(s->places, r11, &module);
}

enum count_code count_code_at(const struct sampler *s, uint64_t *address, uint64_t r11)
{
	const struct pcce_count_config *c = &s->injected.config;
	uint64_t at = *address, place = 0;

	if (!s->counts)
		return COUNT_CODE_OTHER;
	if (at >= c->code && at < c->stubs)
		place = place_in_engine(s, r11);
	else if (!count_places_in_stub(s->places, at, &place))
		return COUNT_CODE_OTHER;
	if (!place)
		return COUNT_CODE_UNKNOWN;
	*address = place;
	return COUNT_CODE_ENTRY;
}

bool count_was_on(const struct sampler *s, uint64_t time)
{
	return !s->driver || burst_driver_was_on(s->driver, time);
}

/* ---- the sampler ----------------------------------------------------------------- */

static void count_destroy(struct sampler *s)
{
	burst_driver_stop(s->driver, &s->times);
	count_libraries_free(s->libraries);
	count_places_free(s->places);
	if (s->area)
		munmap(s->area, s->area_size);
	if (s->area_fd >= 0)
		close(s->area_fd);
	close_program(s);
	free(s);
}

static int count_probe(const struct sampler_config *config, struct error *why)
{
	if (sampler_is_running(config))
		return error_set(why, -EOPNOTSUPP,
				 "--count cannot attach to a running process; start the command "
				 "with pcce-record");
	if (!config->program)
		return error_set(why, -ENOENT, "the command was not found");
	return 0;
}

static int create_area(struct sampler *s, struct error *why)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	s->room = count_room_find();
	s->area_size = memory / 2 < AREA_MAX ? memory / 2 : AREA_MAX;
	if (s->room.size < s->area_size)
		s->area_size = s->room.size;
	s->area_size &= ~0xfffffULL;
	/* Inherited by the command, which closes it before its first instruction. */
	s->area_fd = memfd_create("pcce-count", 0);
	if (s->area_fd < 0 || ftruncate(s->area_fd, (off_t)s->area_size) ||
	    (s->room.accounted && fallocate(s->area_fd, 0, 0, (off_t)s->area_size)))
		return error_set(why, -errno, "there is no shared memory: %s", strerror(errno));
	if (s->room.limit)
		message("pcce-record",
			"warning: there is a limit of %s, so counts have only %" PRIu64
			" MB of memory; calls beyond that are lost",
			s->room.limit, s->area_size >> 20);
	s->area = mmap(NULL, s->area_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		       s->area_fd, 0);
	if (s->area == MAP_FAILED) {
		s->area = NULL;
		return error_set(why, -errno, "the shared memory cannot be mapped: %s",
				 strerror(errno));
	}
	s->area->magic = PCCE_COUNT_MAGIC;
	s->area->root.site = PCCE_MARK_WORD;
	s->area->used =
		(sizeof(*s->area) + PCCE_COUNT_BLOCK - 1) / PCCE_COUNT_BLOCK * PCCE_COUNT_BLOCK;
	return 0;
}

static int count_prepare(const struct sampler_config *config, struct sampler **out,
			 struct error *why)
{
	struct sampler *s = calloc(1, sizeof(*s));
	struct error reason = {0};
	int err = s ? 0 : error_memory(why);

	if (err)
		return err;
	s->area_fd = -1;
	s->empty = !strcmp(config->engine, "empty");
	s->lossy = !strcmp(config->engine, "lossy");
	s->counters = config->counters;
	s->latency = config->latency;
	if (config->bursts)
		s->bursts = *config->bursts;
	s->program = realpath(config->program, NULL);
	if (!s->program)
		s->program = strdup(config->program);
	err = s->program ? open_program(s, &reason) : error_memory(&reason);
	if (err)
		error_set(why, err, "%s %s", s->program ? s->program : "", reason.text);
	else if (s->latency)
		err = count_clock_measure(&s->cycle, why);
	if (!err)
		err = create_area(s, why);
	if (err)
		count_destroy(s);
	else
		*out = s;
	return err;
}

static int count_start(struct sampler *s, pid_t pid, struct error *why)
{
	s->pid = pid;
	fcntl(s->area_fd, F_SETFD, FD_CLOEXEC);
	return inject_attach(pid, why);
}

/* Its offset in the engine. */
static uint64_t engine_function(const struct sampler *s)
{
	const struct pcce_count_head *head = count_engine_head();

	if (s->empty)
		return head->empty;
	if (s->latency)
		return head->latency;
	if (s->lossy)
		return s->bursts.interval ? head->lossy_burst : head->lossy;
	if (s->counters)
		return s->bursts.interval ? head->hot_burst : head->hot;
	if (s->bursts.every)
		return head->adaptive;
	return s->bursts.interval ? head->count_burst : head->count;
}

/* The program has the engine, and has not begun. */
static int start_libraries(void *ctx, const struct inject_result *injected, struct error *why)
{
	struct sampler *s = ctx;
	struct stat st;
	const struct count_module program = {.plan = &s->plan,
					     .bias = injected->bias,
					     .stubs = injected->config.stubs,
					     .stubs_end = injected->config.code_end,
					     .first = 1};
	struct count_libraries_config config = {.area = s->area,
						.area_size = injected->area_size,
						.places = s->places,
						.engine = injected->function,
						.bursts = s->bursts.interval,
						.plain = !s->table.head};

	s->area->size = injected->area_size;
	if (count_places_add(s->places, &program))
		return error_memory(why);
	if (!s->linker.debug)
		return 0;
	if (fstat(s->area_fd, &st))
		return error_set(why, -errno, "there is no shared memory: %s", strerror(errno));
	config.area_inode = st.st_ino;
	s->libraries = count_libraries_start(&config);
	return s->libraries ? 0 : error_set(why, -EAGAIN, "there is no thread for libraries");
}

static int count_released(struct sampler *s, struct error *why)
{
	const struct elf_segment *first = &s->elf.segments[0];
	const struct elf_segment *last = &s->elf.segments[s->elf.n_segments - 1];
	struct inject_request request = {
		.plan = &s->plan,
		.linker = &s->linker,
		.entry = s->elf.entry,
		.first = first->vaddr,
		.end = last->vaddr + last->memory_size,
		.function = engine_function(s),
		.config = {.tpoff = s->table.head ? s->table.head->tpoff : 0,
			   .counters = s->counters,
			   .lossy = s->lossy,
			   .cycle = s->cycle,
			   .every = s->bursts.every},
		.bursts = s->bursts.interval,
		.area = s->area_fd,
		.area_size = s->area_size,
		.memory_size = s->room.size,
	};
	int err;

	s->area->size = s->area_size;
	if (s->bursts.interval) {
		s->driver = burst_driver_start(&s->bursts, s->area);
		if (!s->driver)
			return error_set(why, -EAGAIN, "there is no thread for --burst");
	}
	s->places = count_places_new(count_plan_stub_size(request.bursts));
	if (!s->places)
		return error_memory(why);
	err = inject(s->pid, &request, start_libraries, s, &s->injected, why);
	if (err)
		return err;
	s->counts = true;
	if (s->plan.n_left)
		message("pcce-record",
			"warning: %u tail calls of the program are short jumps, which are not "
			"counted",
			s->plan.n_left);
	return 0;
}

static int count_poll(struct sampler *s, struct stream *sink, int timeout_ms)
{
	(void)s;
	(void)sink;
	poll(NULL, 0, timeout_ms);
	return 0;
}

struct sending {
	const struct sampler *s;
	struct stream *sink;
	uint64_t time;
	pid_t pid; /* the process whose mappings are sent */
};

static int send_map(void *ctx, uint64_t start, uint64_t length, uint64_t offset, const char *path)
{
	const struct sending *s = ctx;

	return stream_map(s->sink, s->time, s->pid, start, length, offset, 0, path);
}

/* A process with the mappings of its code. */
static int send_process(void *ctx, pid_t pid, uint32_t loads)
{
	struct sending *sending = ctx;
	const struct sampler *s = sending->s;
	struct stream *sink = sending->sink;
	const char *slash = strrchr(s->program, '/');
	int err = stream_process(sink, sending->time, pid, pid == s->pid ? 0 : s->pid, 0,
				 slash ? slash + 1 : s->program);

	sending->pid = pid;
	for (size_t i = 0; !err && i < s->elf.n_segments; i++) {
		const struct elf_segment *g = &s->elf.segments[i];
		uint64_t skip = g->vaddr % 4096, end = g->vaddr + g->file_size;

		if (g->executable && g->file_size)
			err = send_map(ctx, g->vaddr - skip + s->injected.bias,
				       (end - (g->vaddr - skip) + 4095) / 4096 * 4096,
				       g->offset - skip, s->program);
	}
	return err ? err : count_libraries_each(s->libraries, loads, send_map, ctx);
}

static int begin_thread(void *ctx, uint64_t missing, uint64_t nameless)
{
	const struct sending *s = ctx;

	return stream_pass(s->sink, summary, missing, nameless);
}

static int send_sample(void *ctx, const struct pcce_sample *sample, uint64_t calls, uint64_t error,
		       const struct pcce_durations *durations)
{
	const struct sending *s = ctx;
	struct stream_event e = stream_event_of(sample);

	if (s->s->counters)
		return stream_summary_sample(s->sink, sample, calls, error);
	e.durations = durations;
	return stream_pass(s->sink, event, &e);
}

static void warn_of_libraries(const struct sampler *s)
{
	const char *path, *why;
	uint64_t refused = count_libraries_refused(s->libraries, &path, &why);
	uint64_t left = count_libraries_left(s->libraries);

	if (refused)
		message("pcce-record",
			"warning: %" PRIu64
			" times libraries are not counted, among them %s, which "
			"%s",
			refused, path, why);
	if (s->area->unheard + s->area->unwritten)
		message("pcce-record",
			"warning: %" PRIu64
			" times libraries were loaded and could not be changed: "
			"if they are built with pcce, their calls are not counted",
			(uint64_t)s->area->unheard + s->area->unwritten);
	if (left)
		message("pcce-record",
			"warning: %" PRIu64 " tail calls of libraries are short jumps, which are "
			"not counted",
			left);
	if (s->area->foreign)
		message("pcce-record",
			"warning: some calls come through shared libraries that are built with "
			"pcce and not counted: their contexts are not known, and marked");
}

static int count_stop(struct sampler *s, struct stream *sink)
{
	struct sending sending = {s, sink, clock_ns(CLOCK_MONOTONIC), s->pid};
	struct count_sink to = {&sending, send_process, begin_thread, send_sample};
	struct count_source source = {.area = s->area,
				      .size = s->injected.area_size,
				      .places = s->places,
				      .pid = s->pid,
				      .time = sending.time,
				      .config = &s->injected.config};
	int err;

	if (!s->counts)
		return 0;
	burst_driver_stop(s->driver, &s->times);
	s->driver = NULL;
	count_libraries_stop(s->libraries);
	source.libraries = s->libraries;
	err = count_read(&source, &to, &s->totals);
	if (!err && s->area->lost)
		err = stream_lost(sink, sending.time, PCCE_LOSS_RING, s->area->lost);
	if (!err && s->totals.damaged)
		err = stream_lost(sink, sending.time, PCCE_LOSS_SHAPE, s->totals.damaged);
	if (s->totals.unknown)
		message("pcce-record",
			"warning: the contexts of %" PRIu64 " calls are not known, and marked: "
			"the program has written to the memory of the counting, or still runs",
			s->totals.unknown);
	warn_of_libraries(s);
	return err;
}

/* A counter becomes a record, with entries or segments that are in no other one. */
static uint64_t size_of_counts(const struct sampler *s)
{
	const uint64_t record =
		sizeof(struct pcce_rec_sum) + PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry);
	uint64_t used = __atomic_load_n(&s->area->used, __ATOMIC_RELAXED);

	used = used < s->area_size ? used : s->area_size;
	return used < sizeof(*s->area) ? 0 : (used - sizeof(*s->area)) / PCCE_COUNT_UNIT * record;
}

static void count_account(struct sampler *s, struct sampler_due *due)
{
	due->known = s->counts && !s->empty;
	due->due = s->totals.calls + s->area->lost + s->totals.damaged;
	due->bursts = s->times.n;
	due->skipped = s->area->skipped;
	due->burst_ns = s->times.counted;
	due->ns = s->times.all;
}

static const char *count_why_nothing(const struct sampler *s)
{
	return s->empty ? "the engine is empty" : "no instrumented function was called";
}

const struct sampler_ops sampler_count = {
	.name = "count",
	.probe = count_probe,
	.prepare = count_prepare,
	.start = count_start,
	.released = count_released,
	.poll = count_poll,
	.rest = size_of_counts,
	.stop = count_stop,
	.account = count_account,
	.why_nothing = count_why_nothing,
	.destroy = count_destroy,
};

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Implements the recorder's side of the self sampler. An environment variable tells processes to
 * sample themselves (userlib/self/sampler.c). They create rings in our private directory
 * (include/pcce/selfring.h), and this file reads them.
 *
 *   prepare   creates the directory and sets the environment that the command inherits
 *   poll      looks for new rings (inotify), reads all rings, waits for more
 *   stop      tells all processes to stop, reads the rest
 *
 * A ring is unlinked as soon as it is open. It is closed when no process has it mapped (its lock
 * tells, see selfring.h): the process has ended or done an exec. Rings are read in the order of
 * their creation, so the sink gets mappings and samples of a process in order.
 *
 * A ring may belong to a user whom the recorder must not trust: root records a command that drops
 * its privileges. So a ring is a regular file with one name, opened without following links; what
 * is in it is copied before it is checked; and a file that shrinks becomes zeros (bus_guard.c).
 *
 * A process can be in another pid namespace. pidns.c finds its number in ours.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <pcce/selfring.h>
#include "base/array.h"
#include "base/clock.h"
#include "sampler/bus_guard.h"
#include "sampler/pidns.h"
#include <pcce/sample.h>
#include "sampler/sampler.h"
#include "sampler/perf_event.h"
#include "sampler/self_allocations.h"
#include "sampler/self_directory.h"
#include "sampler/thread_labels.h"

/* A ring has space for a sixteenth of a second of the largest samples. */
#define POLL_SLICE_MS 10

struct ring {
	struct pcce_self_ring *head; /* mapped; its contents are not trusted */
	const char *data;	     /* mapped twice in a row */
	uint64_t size, n_counters, tail, lost_seen, throttled_seen, blocked_seen, due_seen,
		kernel_seen, unseen_seen;
	uint64_t start_time, pid_ns;
	pid_t pid, pid_here; /* its process in that process's namespace, and in ours */
	struct self_allocations allocations;
	struct bus_guard *guard;
	int fd;
	bool finished;
};

struct sampler {
	struct self_directory directory;
	struct pidns *pidns;
	struct thread_labels *labels;
	int inotify;
	struct ring *rings; /* sorted by start_time */
	size_t n, capacity;
	uint32_t flags_told;
	struct sampler_due due;
	uint64_t unseen; /* processes and threads without samples */
	bool uncounted;	 /* there is a process whose due samples are not known */
	bool any_ring, told_of_too_many;
	bool allocations; /* are sampled, instead of CPU time */
	bool sampled;	  /* by bytes */
	int n_events;
	bool told_of_unhooked;
	char *preload_before;
	bool preload_changed;
	_Alignas(16) char record[PCCE_SELF_RECORD_MAX + PATH_MAX];
};

#define SECOND 1000000000
#define SHORTEST 20000 /* ns; a signal can take half of this time */
#define NEVER 1000000000000000000ULL

static bool samples_allocations(const struct sampler_config *config)
{
	return perf_event_is_allocations(config->events->name);
}

/* Returns the time between samples in ns. */
static uint64_t sampling_interval(const struct sampler_config *config)
{
	const struct sampler_event *e = config->events;

	if (samples_allocations(config))
		return NEVER;
	return e->frequency ? SECOND / e->frequency : e->period;
}

static int self_probe(const struct sampler_config *config, struct error *why)
{
	const struct sampler_event *event = config->events;
	int err;

	if (config->copy == SAMPLER_COPY_ALL)
		return error_set(why, -EOPNOTSUPP,
				 "it samples only instrumented threads, so it does not support "
				 "--frames=all; use -b bpf or kmod as root");
	if (config->system)
		return error_set(why, -EOPNOTSUPP,
				 "it samples only the program that it starts; use -b bpf as root");
	if (config->n_targets)
		return error_set(why, -EOPNOTSUPP,
				 "it cannot attach to the running process %d; start the command "
				 "with pcce-record, or use -b bpf as root",
				 (int)config->targets[0]);
	err = self_allocations_probe(config, why);
	if (err || samples_allocations(config))
		return err;
	err = sampler_one_event(config, why);
	if (err)
		return err;
	if (strcmp(event->name, "cpu-clock") != 0 && strcmp(event->name, "task-clock") != 0)
		return error_set(why, -EOPNOTSUPP,
				 "it supports only the events cpu-clock, task-clock and malloc, "
				 "not '%s'; use -b bpf as root",
				 event->name);
	if (!event->frequency && !event->period)
		return error_set(why, -EINVAL, "it needs a frequency or a period");
	if (sampling_interval(config) < SHORTEST)
		return error_set(why, -EINVAL,
				 "it supports at most %d samples per second, because each one "
				 "needs a signal; use a lower -F, or -b bpf as root",
				 SECOND / SHORTEST);
	return 0;
}

/* Puts a library at the front of LD_PRELOAD. what: what it is needed for. */
static int preload(struct sampler *s, const char *name, const char *what, struct error *why)
{
	char self[PATH_MAX], path[PATH_MAX + 64], *value;
	const char *before = getenv("LD_PRELOAD");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n < 0 ? 0 : n] = 0;
	for (int i = 0; i < 2 && (slash = strrchr(self, '/')); i++)
		*slash = 0;
	snprintf(path, sizeof(path), "%s/lib/pcce/%s", self, name);
	if (access(path, R_OK) != 0)
		return error_set(why, -ENOENT,
				 "cannot %s: %.200s: %s; build or install all of pcce", what, path,
				 strerror(errno));
	if (asprintf(&value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "") <
	    0)
		return -ENOMEM;
	if (!s->preload_changed)
		s->preload_before = before ? strdup(before) : NULL;
	s->preload_changed = true;
	setenv("LD_PRELOAD", value, 1);
	free(value);
	return 0;
}

static void self_destroy(struct sampler *s);

static int self_prepare(const struct sampler_config *config, struct sampler **out,
			struct error *why)
{
	uint64_t interval = sampling_interval(config);
	struct sampler *s = calloc(1, sizeof(*s));
	char *value, allocations[32] = "";
	int ret;

	if (!s)
		return -ENOMEM;
	s->allocations = samples_allocations(config);
	s->sampled = s->allocations && config->events->period > 1;
	s->n_events = (int)config->n_events;
	if (s->allocations)
		snprintf(allocations, sizeof(allocations), "%c%" PRIu64, PCCE_SELF_FLAG_MALLOC,
			 config->events->period ? config->events->period : 1);
	s->inotify = -1;
	ret = -ENOMEM;
	s->pidns = pidns_new();
	s->labels = thread_labels_new();
	if (!s->pidns || !s->labels)
		goto fail;
	ret = self_directory_make(&s->directory);
	if (ret < 0) {
		error_set(why, 0,
			  "cannot create a private directory in /dev/shm, $TMPDIR or /tmp: %s",
			  strerror(-ret));
		goto fail;
	}
	s->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (s->inotify < 0 || inotify_add_watch(s->inotify, s->directory.rings, IN_MOVED_TO) < 0) {
		/* Without inotify, each poll reads the directory. */
		if (s->inotify >= 0)
			close(s->inotify);
		s->inotify = -1;
	}
	if (asprintf(&value, "%s:%" PRIu64 ":%s%s%s%c%s%c%d", s->directory.rings, interval,
		     config->verify ? "v" : "", config->copy & SAMPLER_COPY_PAGE ? "c" : "",
		     strcmp(config->events->name, "task-clock") == 0 ? "t" : "",
		     PCCE_SELF_FLAG_LABELS, allocations, PCCE_SELF_FLAG_SIGNAL,
		     config->signal ? config->signal : PCCE_SELF_SIGNAL) < 0) {
		ret = -ENOMEM;
		goto fail;
	}
	setenv(PCCE_SELF_ENV, value, 1);
	free(value);
	ret = config->verify ? preload(s, "libpcce-verify.so", "verify", why) : 0;
	if (ret == 0 && s->allocations)
		ret = preload(s, "libpcce-malloc.so", "see allocations", why);
	if (ret < 0)
		goto fail;
	*out = s;
	return 0;
fail:
	self_destroy(s);
	return ret;
}

static int self_start(struct sampler *s, pid_t pid, struct error *why)
{
	/* Processes start sampling when their runtime is initialised. */
	(void)s;
	(void)pid;
	(void)why;
	return 0;
}

/* ---- rings ---------------------------------------------------------------------- */

/* Both mappings of the data, and the counters. */
static uint64_t ring_bytes(const struct ring *ring)
{
	return PCCE_SELF_HEADER_SIZE + 2 * ring->size +
	       ring->n_counters * sizeof(struct pcce_self_counter);
}

static const struct pcce_self_counter *counters_of(const struct ring *ring)
{
	return (const struct pcce_self_counter *)(ring->data + 2 * ring->size);
}

static void close_ring(struct ring *ring)
{
	if (ring->guard)
		bus_guard_remove(ring->guard);
	ring->guard = NULL;
	self_allocations_free(&ring->allocations);
	if (ring->head)
		munmap(ring->head, ring_bytes(ring));
	if (ring->fd >= 0)
		close(ring->fd);
	ring->head = NULL;
	ring->fd = -1;
}

/* Maps the ring; false if the file is not one. */
static bool map_ring(struct ring *ring)
{
	int fd = ring->fd;
	struct pcce_self_ring header;
	struct stat st;
	char *base;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return false;
	ring->size = header.data_size;
	ring->n_counters = header.n_counters;
	if (header.magic != PCCE_SELF_MAGIC || header.version != PCCE_SELF_VERSION ||
	    header.header_size != PCCE_SELF_HEADER_SIZE || ring->size < PCCE_SELF_DATA_MIN ||
	    ring->size > PCCE_SELF_DATA_MAX || (ring->size & (ring->size - 1)) ||
	    ring->n_counters > PCCE_SELF_COUNTERS || (ring->n_counters & (ring->n_counters - 1)) ||
	    (uint64_t)st.st_size != ring_bytes(ring) - ring->size)
		return false;
	base = mmap(NULL, ring_bytes(ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return false;
	if (mmap(base + PCCE_SELF_HEADER_SIZE + ring->size,
		 ring_bytes(ring) - PCCE_SELF_HEADER_SIZE - ring->size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, PCCE_SELF_HEADER_SIZE) == MAP_FAILED) {
		munmap(base, ring_bytes(ring));
		return false;
	}
	ring->guard = bus_guard_add(base, ring_bytes(ring));
	if (!ring->guard) {
		munmap(base, ring_bytes(ring));
		return false;
	}
	ring->allocations.n_counters = ring->n_counters;
	ring->head = (struct pcce_self_ring *)base;
	ring->data = base + PCCE_SELF_HEADER_SIZE;
	ring->start_time = header.start_time;
	ring->pid_ns = header.pid_ns;
	ring->pid = (pid_t)header.pid;
	return true;
}

/* Whoever makes too many rings, or other files, gets no more of them read. */
static int open_self_ring(struct sampler *s, const char *name)
{
	struct ring ring = {0};
	char path[2 * PATH_MAX];
	size_t at;

	snprintf(path, sizeof(path), "%s/%s", s->directory.rings, name);
	ring.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (ring.fd < 0 && (errno == EMFILE || errno == ENFILE) && !s->told_of_too_many) {
		s->told_of_too_many = true;
		fprintf(stderr,
			"%s: self sampler: cannot read the rings of more processes: %s; raise "
			"ulimit -n\n",
			program_invocation_short_name, strerror(errno));
	}
	if (ring.fd < 0)
		return errno == ENOMEM ? -errno : 0;
	if (!map_ring(&ring)) {
		unlink(path);
		close_ring(&ring);
		return 0;
	}
	unlink(path);
	ring.allocations.sampled = s->sampled;
	ring.allocations.n_events = s->n_events;
	s->any_ring = true;
	ring.pid_here = pidns_translate(s->pidns, ring.pid_ns, ring.pid, 1);
	if (array_grow_from(&s->rings, s->n, &s->capacity, 16, sizeof(ring))) {
		close_ring(&ring);
		return -ENOMEM;
	}
	for (at = s->n; at > 0 && s->rings[at - 1].start_time > ring.start_time; at--)
		s->rings[at] = s->rings[at - 1];
	s->rings[at] = ring;
	s->n++;
	return 0;
}

/* Opens all rings in the directory. */
static int find_rings(struct sampler *s)
{
	DIR *dir = opendir(s->directory.rings);
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return -errno;
	while (ret == 0 && (entry = readdir(dir)))
		if (strncmp(entry->d_name, PCCE_SELF_RING, strlen(PCCE_SELF_RING)) == 0)
			ret = open_self_ring(s, entry->d_name);
	closedir(dir);
	return ret;
}

static bool has_news(struct sampler *s)
{
	char events[4096] __attribute__((aligned(8)));
	bool any = s->inotify < 0;

	while (s->inotify >= 0 && read(s->inotify, events, sizeof(events)) > 0)
		any = true;
	return any;
}

/* ---- records -------------------------------------------------------------------- */

static int bad_record(struct stream *sink)
{
	return stream_lost(sink, clock_ns(CLOCK_MONOTONIC), PCCE_LOSS_SHAPE, 1);
}

static uint32_t translate_pid(struct sampler *s, const struct ring *ring, uint32_t pid)
{
	if ((pid_t)pid == ring->pid)
		return (uint32_t)ring->pid_here;
	return (uint32_t)pidns_translate(s->pidns, ring->pid_ns, (pid_t)pid, 0);
}

/* Returns the labels that follow a sample. */
static const struct label_set *labels_behind(const struct sampler *s, const struct pcce_sample *of,
					     uint32_t n)
{
	return n ? thread_labels_of(s->labels, (pid_t)of->pid,
				    (const uint64_t *)((const char *)of + pcce_sample_size(of)), n)
		 : NULL;
}

static int take_ring_sample(struct sampler *s, struct ring *ring, struct stream *sink, size_t size)
{
	struct pcce_self_sample *r = (void *)s->record;
	const struct label_set *labels;
	struct stream_event e;
	uint32_t n_labels;
	int ret;

	if (size < sizeof(*r) || !pcce_sample_counts_are_possible(&r->sample, PCCE_SELF_STACK) ||
	    r->sample.weight == 0 || r->sample.flags & PCCE_SAMPLE_COUNTED ||
	    sizeof(*r) - sizeof(r->sample) + pcce_sample_size(&r->sample) +
			    PCCE_SAMPLE_LABELS(r->sample.flags) * sizeof(uint64_t) >
		    size)
		return bad_record(sink);
	n_labels = PCCE_SAMPLE_LABELS(r->sample.flags);
	r->sample.flags &= ~PCCE_SAMPLE_LABELS_MASK;
	r->sample.pid = translate_pid(s, ring, r->sample.pid);
	labels = labels_behind(s, &r->sample, n_labels);
	if (r->rec.type == PCCE_SELF_ALLOCATION) {
		ret = self_allocations_take(&ring->allocations, &r->sample, labels, sink);
		return ret == -EBADMSG ? bad_record(sink) : ret;
	}
	s->due.merged += r->sample.weight - 1;
	e = stream_event_of(&r->sample);
	e.labels = labels;
	return stream_pass(sink, event, &e);
}

static int take_ring_record(struct sampler *s, struct ring *ring, struct stream *sink, size_t size)
{
	struct pcce_self_record *rec = (void *)s->record;

	switch (rec->type) {
	case PCCE_SELF_SAMPLE:
	case PCCE_SELF_ALLOCATION:
		return take_ring_sample(s, ring, sink, size);
	case PCCE_SELF_PROCESS: {
		struct pcce_self_process *p = (void *)s->record;

		if (size < sizeof(*p))
			return bad_record(sink);
		p->comm[sizeof(p->comm) - 1] = 0;
		thread_labels_exec(s->labels, (pid_t)translate_pid(s, ring, p->pid));
		return stream_process(sink, p->time, (pid_t)translate_pid(s, ring, p->pid),
				      p->ppid ? (pid_t)translate_pid(s, ring, p->ppid) : 0,
				      p->flags, p->comm);
	}
	case PCCE_SELF_THREAD: {
		struct pcce_self_thread *t = (void *)s->record;

		if (size < sizeof(*t))
			return bad_record(sink);
		t->comm[sizeof(t->comm) - 1] = 0;
		return stream_thread(sink, t->time, (pid_t)translate_pid(s, ring, t->pid),
				     (pid_t)t->tid, t->comm);
	}
	case PCCE_SELF_MAP: {
		const struct pcce_self_map *m = (const void *)s->record;
		const char *path = (const char *)(m + 1);

		if (size < sizeof(*m) || m->path_size == 0 || m->path_size > PATH_MAX ||
		    sizeof(*m) + m->path_size > size || path[m->path_size - 1] != 0 ||
		    m->length == 0 || m->start + m->length < m->start)
			return bad_record(sink);
		return stream_map(sink, m->time, (pid_t)translate_pid(s, ring, m->pid), m->start,
				  m->length, m->pgoff, 0, path);
	}
	default:
		return 0;
	}
}

/* Returns the size of the committed record at a position, or 0. */
static uint64_t committed_size(const struct sampler *s, const struct ring *ring, uint64_t at,
			       uint64_t head)
{
	const struct pcce_self_record *rec = (const void *)(ring->data + (at & (ring->size - 1)));
	uint64_t size;

	if (__atomic_load_n(&rec->stamp, __ATOMIC_ACQUIRE) != at + 1)
		return 0;
	size = __atomic_load_n(&rec->size, __ATOMIC_RELAXED);
	if (size < sizeof(*rec) || size % 16 || size > sizeof(s->record) || size > head - at)
		return 0;
	return size;
}

/* Returns by how much a ring's counter has grown. */
static uint64_t take_counter(const __u64 *counter, uint64_t *seen)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED), fresh = now - *seen;

	if (now <= *seen)
		return 0;
	*seen = now;
	return fresh;
}

/*
 * Delivers all records of a ring. last: its writers are dead, so unfinished records are skipped.
 */
static int drain_ring(struct sampler *s, struct ring *ring, struct stream *sink, bool last,
		      bool *any)
{
	uint64_t head = __atomic_load_n(&ring->head->head, __ATOMIC_ACQUIRE);
	uint64_t lost, size;
	int ret = 0;

	__atomic_store_n(&ring->head->read_at, clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
	if (head < ring->tail || head - ring->tail > ring->size || head % 16) {
		/* The process has damaged the ring, so it cannot be read any more. */
		ring->finished = true;
		return bad_record(sink);
	}
	while (ret == 0 && ring->tail < head) {
		size = committed_size(s, ring, ring->tail, head);
		if (size == 0) {
			if (!last)
				break;
			do
				ring->tail += 16;
			while (ring->tail < head && committed_size(s, ring, ring->tail, head) == 0);
			ret = stream_lost(sink, clock_ns(CLOCK_MONOTONIC), PCCE_LOSS_RING, 1);
			continue;
		}
		memcpy(s->record, ring->data + (ring->tail & (ring->size - 1)), size);
		ret = take_ring_record(s, ring, sink, size);
		ring->tail += size;
		*any = true;
		__atomic_store_n(&ring->head->tail, ring->tail, __ATOMIC_RELEASE);
	}
	lost = take_counter(&ring->head->lost, &ring->lost_seen);
	if (ret == 0 && lost)
		ret = stream_lost(sink, clock_ns(CLOCK_MONOTONIC), PCCE_LOSS_RING, lost);
	lost = take_counter(&ring->head->throttled, &ring->throttled_seen);
	if (ret == 0 && lost)
		ret = stream_lost(sink, clock_ns(CLOCK_MONOTONIC), PCCE_LOSS_THROTTLE, lost);
	lost = take_counter(&ring->head->blocked, &ring->blocked_seen);
	if (ret == 0 && lost)
		ret = stream_lost(sink, clock_ns(CLOCK_MONOTONIC), PCCE_LOSS_BLOCKED, lost);
	s->due.due += take_counter(&ring->head->due, &ring->due_seen);
	s->due.kernel += take_counter(&ring->head->kernel, &ring->kernel_seen);
	s->unseen += take_counter(&ring->head->unseen, &ring->unseen_seen);
	return ret;
}

static void report_flags(struct sampler *s, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} notes[] = {
		{PCCE_SELF_TIMER,
		 "perf_event_open is not permitted: a timer is used, which has only the kernel's "
		 "tick rate (HZ); the weights of samples make up for this"},
		{PCCE_SELF_SIGNAL_TAKEN,
		 "the program waits for the sampling signal itself; threads that do are not "
		 "sampled meanwhile; choose another signal with --signal"},
		{PCCE_SELF_CONFINED,
		 "a process has confined itself with seccomp: threads and processes that it "
		 "creates from then on are not sampled; use -b bpf as root"},
		{PCCE_SELF_NO_SIGNALS,
		 "a process has confined itself with a seccomp filter that forbids the return from "
		 "signal handlers; it is not sampled from then on; use -b bpf as root"},
		{PCCE_SELF_NO_STACK,
		 "a thread has no stack for the sampler; it is not sampled; use -b bpf as root"},
		{PCCE_SELF_NO_MAPS,
		 "a process could not read /proc/self/maps; its samples cannot be decoded"},
		{PCCE_SELF_NO_UNWINDER, "a process has no unwinder (is it static, a child of "
					"_Fork(), or does it use ThreadSanitizer?); its "
					"samples are not verified"},
		{PCCE_SELF_NO_SOURCE,
		 "a thread got neither a perf event nor a timer; it is not sampled"},
		{PCCE_SELF_NO_CLOCK, "a process disabled the clock for itself (PR_SET_TSC, or "
				     "seccomp's strict mode); it is not sampled from then on"},
		{PCCE_SELF_NEW_UNSEEN,
		 "a process has an allocator whose operator new does not call "
		 "malloc(): what that allocates is not seen"},
		{PCCE_SELF_LIVE_UNKNOWN,
		 "a thread left an allocating function by a jump out of a signal handler, or was "
		 "killed: what was live in its process is not known from then on"},
		{PCCE_SELF_GAVE_UP, "the ring of a process was full for too long; the process is "
				    "not sampled any more"},
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (flags & ~s->flags_told & notes[i].flag)
			fprintf(stderr, "%s: self sampler: %s\n", program_invocation_short_name,
				notes[i].text);
	s->flags_told |= flags;
}

/* The program's libraries are loaded, so nothing can change it any more. */
static void report_unhooked(struct sampler *s, const struct ring *ring)
{
	if (!s->allocations || s->told_of_unhooked ||
	    __atomic_load_n(&ring->head->flags, __ATOMIC_RELAXED) & PCCE_SELF_HOOKED)
		return;
	s->told_of_unhooked = true;
	fprintf(stderr,
		"%s: self sampler: allocations of process %d are not seen: its program made none, "
		"is static, contains its own malloc(), or was built with an older pcce\n",
		program_invocation_short_name, (int)ring->pid_here);
}

/* Nobody knows how many samples were due in threads that are not sampled. */
static bool is_counted(const struct ring *ring)
{
	const uint32_t unsampled = PCCE_SELF_UNCOUNTED | PCCE_SELF_NO_SOURCE | PCCE_SELF_NO_STACK |
				   PCCE_SELF_CONFINED | PCCE_SELF_NO_SIGNALS | PCCE_SELF_NO_CLOCK |
				   PCCE_SELF_SIGNAL_TAKEN | PCCE_SELF_GAVE_UP;
	uint32_t flags = __atomic_load_n(&ring->head->flags, __ATOMIC_RELAXED);

	return (flags & PCCE_SELF_COUNTED) && !(flags & unsampled) && !ring->unseen_seen;
}

static bool is_locked(const struct ring *ring)
{
	return ring->head->flags & PCCE_SELF_LOCKED;
}

/* Whether no process can write to the ring any more. */
static bool has_ended(const struct ring *ring)
{
	return is_locked(ring) && flock(ring->fd, LOCK_EX | LOCK_NB) == 0;
}

static int drain_rings(struct sampler *s, struct stream *sink, bool *any)
{
	size_t kept = 0;
	int ret = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct ring *ring = &s->rings[i];
		/* Check this before the drain, so that the drain gets everything written before the
		 * end. */
		bool last = has_ended(ring);

		if (ret == 0)
			ret = drain_ring(s, ring, sink, last, any);
		report_flags(s, __atomic_load_n(&ring->head->flags, __ATOMIC_RELAXED));
		if (last && ret == 0) {
			ring->finished = true;
			ret = self_allocations_sum(&ring->allocations, ring->head,
						   counters_of(ring), sink);
		}
	}
	for (size_t i = 0; i < s->n; i++) {
		if (s->rings[i].finished) {
			s->uncounted |= !is_counted(&s->rings[i]);
			report_unhooked(s, &s->rings[i]);
			close_ring(&s->rings[i]);
		} else {
			s->rings[kept++] = s->rings[i];
		}
	}
	s->n = kept;
	return ret;
}

static int self_poll(struct sampler *s, struct stream *sink, int timeout_ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) +
		       (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000,
		 now;
	bool any = false;
	int ret;

	for (;;) {
		ret = has_news(s) ? find_rings(s) : 0;
		if (ret == 0)
			ret = drain_rings(s, sink, &any);
		now = clock_ns(CLOCK_MONOTONIC);
		if (ret < 0 || any || now >= end)
			return ret;

		struct pollfd p = {.fd = s->inotify, .events = POLLIN};
		uint64_t wait = (end - now + 999999) / 1000000;

		if (poll(&p, 1, wait < POLL_SLICE_MS ? (int)wait : POLL_SLICE_MS) < 0) {
			if (errno != EINTR)
				return -errno;
			end = now;
		}
	}
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* The kernel's time of the command and its children, as far as they have ended, has no samples. */
static void report_kernel_time(const struct sampler *s)
{
	struct rusage usage;
	double kernel, all;

	if (!(s->flags_told & PCCE_SELF_USER_ONLY) || getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return;
	kernel = seconds(usage.ru_stime);
	all = kernel + seconds(usage.ru_utime);
	if (kernel > 0.1 && kernel > all / 10)
		fprintf(stderr,
			"%s: self sampler: %.0f%% of the CPU time (%.1f s) was spent in the "
			"kernel, where "
			"this sampler takes no samples; use -b bpf as root\n",
			program_invocation_short_name, kernel / all * 100, kernel);
}

static void report_unseen(const struct sampler *s)
{
	if (s->unseen)
		fprintf(stderr,
			"%s: self sampler: processes or threads without samples, since a raw "
			"system call, clone() or a timer created them: %" PRIu64
			"; use -b bpf as root\n",
			program_invocation_short_name, s->unseen);
}

static int self_stop(struct sampler *s, struct stream *sink)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	bool any = false;
	int ret = find_rings(s);

	for (size_t i = 0; i < s->n; i++)
		__atomic_store_n(&s->rings[i].head->stop, 1, __ATOMIC_RELAXED);
	/* Give running handlers time to finish their records. */
	for (int i = 0; i < 5 && ret == 0 && s->n; i++) {
		ret = drain_rings(s, sink, &any);
		nanosleep(&pause, NULL);
	}
	/* A record that a living process is still writing belongs to the time after the end. */
	for (size_t i = 0; i < s->n && ret == 0; i++) {
		ret = drain_ring(s, &s->rings[i], sink,
				 !is_locked(&s->rings[i]) || has_ended(&s->rings[i]), &any);
		if (ret == 0)
			ret = self_allocations_sum(&s->rings[i].allocations, s->rings[i].head,
						   counters_of(&s->rings[i]), sink);
	}
	for (size_t i = 0; i < s->n; i++) {
		s->uncounted |= !is_counted(&s->rings[i]);
		report_unhooked(s, &s->rings[i]);
	}
	report_kernel_time(s);
	report_unseen(s);
	return ret;
}

static void self_account(struct sampler *s, struct sampler_due *due)
{
	*due = s->due;
	due->known = s->any_ring && !s->uncounted;
}

static const char *self_why_nothing(const struct sampler *s)
{
	if (!s->any_ring)
		return "no process sampled itself: a program must be built with pcce, must not be "
		       "set-uid or have file capabilities, must keep its environment, and must be "
		       "able to write to /dev/shm";
	return NULL;
}

static void self_destroy(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		close_ring(&s->rings[i]);
	free(s->rings);
	if (s->inotify >= 0)
		close(s->inotify);
	self_directory_remove(&s->directory);
	pidns_free(s->pidns);
	thread_labels_free(s->labels);
	unsetenv(PCCE_SELF_ENV);
	if (s->preload_changed && s->preload_before)
		setenv("LD_PRELOAD", s->preload_before, 1);
	else if (s->preload_changed)
		unsetenv("LD_PRELOAD");
	free(s->preload_before);
	free(s);
}

const struct sampler_ops sampler_self = {
	.name = "self",
	.what = "in the program itself",
	.probe = self_probe,
	.prepare = self_prepare,
	.start = self_start,
	.poll = self_poll,
	.stop = self_stop,
	.account = self_account,
	.why_nothing = self_why_nothing,
	.destroy = self_destroy,
};

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sampler that the kernel runs: tools/bpf/sampler.bpf.c on a perf event.
 *
 * Events.  One perf event for each thread that exists at the start (for a command: one,
 * enabled by its exec), for any CPU, inherited by the threads and processes that they
 * create.  The BPF program replaces the events' own output, so they need no buffers,
 * and cost one descriptor each.  Tracepoints are different: a BPF program on a tracepoint
 * runs for the whole system; it is attached once, and asks a map of processes.
 *
 * Order.  Samples come through the rings (tools/bpf/sampler.h), all else through the side band (one
 * buffer per CPU).  Both go through a queue that sorts by time, and what is younger than
 * the moment at which the buffers were last emptied waits for the next turn: so the sink
 * gets everything in order of time.
 *
 * Attaching to a running process.  Threads are created while their brothers are given
 * events.  A thread is born with its creator's event if that was ready by then, so one
 * that shows up late gets its own event only if its creator had none when it was
 * born; the side band tells both.  Thus no thread is missed and none sampled twice.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <uthash.h>

#include "tools/bpf/sampler.h"
#include "events.h"
#include "follow.h"
#include "places.h"
#include "reorder.h"
#include "rings.h"
#include "sampler.h"
#include "sideband.h"
#include "sampler.skel.h"

#define MARGIN 1000000 /* ns between a sample's time and its arrival in the ring, at most */
#define TURN 10	       /* ms: how long things wait in the buffers */
#define BUSY_TURN 2    /* the same, when they fill quickly */

enum blob { BLOB_SAMPLE, BLOB_SIDEBAND };

/* A thread that has an event: its own, or one inherited. */
struct watched {
	pid_t tid;
	uint64_t since; /* from then on, what it creates inherits the event */
	UT_hash_handle hh;
};

struct birth { /* threads of the target, as they were born while events were being opened */
	pid_t tid, parent;
	uint64_t time;
};

struct sampler {
	struct sampler_config config;
	struct perf_event_attr attr;
	enum event_kind kind;
	struct sampler_bpf *skel;
	struct rings *rings;
	struct sideband *sideband;
	struct follow *follow;
	struct places *places;
	struct reorder queue;
	int epoll;
	int *events;
	size_t n_events;
	struct watched *watched;
	struct birth *births;
	size_t n_births;
	pid_t pid;
	uint64_t start;
	bool snapshot_due;
	uint64_t taken, drops;
	uint64_t throttled;		 /* samples that throttling has cost, as far as the sink knows */
	const struct sampler_sink *sink; /* during poll and stop */
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- can it work ---------------------------------------------------------------- */

static char libbpf_says[256];

/* Keeps the first complaint, which is the cause of those that follow. */
static int keep_complaint(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !libbpf_says[0]) {
		vsnprintf(libbpf_says, sizeof(libbpf_says), format, args);
		libbpf_says[strcspn(libbpf_says, "\n")] = 0;
	}
	return 0;
}

static bool has_capability(unsigned int bit)
{
	unsigned long long effective = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	if (f)
		fclose(f);
	return effective >> bit & 1;
}

static int check_privilege(char *why, size_t why_size)
{
	enum { SYS_ADMIN = 21, PERFMON = 38, BPF = 39 };

	if (has_capability(SYS_ADMIN) || (has_capability(PERFMON) && has_capability(BPF)))
		return 0;
	snprintf(why, why_size, "it needs the capabilities CAP_BPF and CAP_PERFMON, or root");
	return -EPERM;
}

static int open_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Samples a second and CPU that the kernel allows; 0: not known. */
static unsigned int sample_rate_limit(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned int limit;

	if (!f || fscanf(f, "%u", &limit) != 1)
		limit = 0;
	if (f)
		fclose(f);
	return limit;
}

static int explain_event(const struct sampler_config *config, int err, char *why, size_t why_size)
{
	unsigned int limit;

	switch (-err) {
	case EINVAL:
		limit = sample_rate_limit();
		if (limit && config->frequency > limit) {
			snprintf(why, why_size,
				 "%llu samples a second are more than the kernel allows, %u; use a lower -F, or raise "
				 "kernel.perf_event_max_sample_rate",
				 (unsigned long long)config->frequency, limit);
			break;
		}
		/* fallthrough */
	default:
		snprintf(why, why_size, "the kernel refuses the event %s (perf_event_open: %s)", config->event,
			 strerror(-err));
		break;
	case ENOENT:
	case EOPNOTSUPP:
		snprintf(why, why_size, "this machine does not have the event %s", config->event);
		break;
	case EPERM:
	case EACCES:
	case ENOSYS:
		snprintf(why, why_size,
			 "perf_event_open is refused (%s): a container's seccomp filter, a security module or "
			 "kernel.perf_event_paranoid forbids it",
			 strerror(-err));
		break;
	case EMFILE:
	case ENFILE:
		snprintf(why, why_size,
			 "more threads than this process may have open files; raise the limit (ulimit -n)");
		break;
	}
	return err;
}

static int set_up_attr(const struct sampler_config *config, struct perf_event_attr *attr, enum event_kind *kind,
		       char *why, size_t why_size)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	if (config->verify) {
		snprintf(why, why_size, "it cannot look at the real stack, which --verify needs");
		return -EOPNOTSUPP;
	}
	attr->disabled = 1;
	attr->inherit = 1;
	attr->exclude_hv = 1;
	attr->exclude_guest = 1;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (config->frequency) {
		attr->freq = 1;
		attr->sample_freq = config->frequency;
	} else {
		attr->sample_period = config->period ? config->period : 1;
	}
	return event_parse(config->event, attr, kind, why, why_size);
}

/* In which pid namespace are we? Not the initial one: the BPF program must translate. */
static void set_pid_namespace(struct sampler_bpf *skel)
{
	const ino_t initial = 0xeffffffc; /* PROC_PID_INIT_INO */
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == initial)
		return;
	skel->rodata->pidns_dev = st.st_dev;
	skel->rodata->pidns_ino = st.st_ino;
}

static bool kernel_has(const char *function)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return has;
}

static bool is_cpu_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_CPU_CLOCK;
}

static int load(enum event_kind kind, bool cpu_clock, struct sampler_bpf **out, char *why, size_t why_size)
{
	bool tracepoint = kind == EVENT_TRACEPOINT;
	struct sampler_bpf *skel;
	int cpus = libbpf_num_possible_cpus(), err;

	if (cpus <= 0) {
		snprintf(why, why_size, "the number of CPUs cannot be read: %s", strerror(-cpus));
		return -EINVAL;
	}
	libbpf_says[0] = 0;
	libbpf_set_print(keep_complaint);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	skel = sampler_bpf__open();
	if (!skel) {
		snprintf(why, why_size, "the BPF program cannot be opened: %s", strerror(errno));
		return -errno;
	}
	set_pid_namespace(skel);
	skel->rodata->weighted = kind == EVENT_COUNT;
	skel->rodata->event_known = !tracepoint && kernel_has("bpf_cast_to_kern_ctx");
	skel->rodata->event_clock = skel->rodata->event_known && cpu_clock;
	skel->rodata->segment_shift = rings_shift(cpus);
	bpf_map__set_max_entries(skel->maps.controls, (uint32_t)cpus);
	bpf_map__set_max_entries(skel->maps.rings, (uint32_t)cpus * SAMPLER_SEGMENTS);
	bpf_map__set_value_size(skel->maps.rings, rings_element(cpus));
	bpf_program__set_autoload(skel->progs.on_event, !tracepoint);
	bpf_program__set_autoload(skel->progs.on_tracepoint, tracepoint);
	bpf_program__set_autoload(skel->progs.on_fork, tracepoint);
	bpf_program__set_autoload(skel->progs.on_exec, tracepoint);
	bpf_program__set_autoload(skel->progs.on_exit, tracepoint);
	err = sampler_bpf__load(skel);
	if (err) {
		if (err == -EPERM || err == -EACCES)
			snprintf(why, why_size,
				 "the kernel refuses the BPF program (%s): a container's seccomp filter or a security "
				 "module "
				 "forbids it",
				 strerror(-err));
		else if (err == -ENOSYS)
			snprintf(why, why_size, "this kernel has no BPF");
		else if (access("/sys/kernel/btf/vmlinux", R_OK))
			snprintf(why, why_size, "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)");
		else
			snprintf(why, why_size, "the kernel does not take the BPF program (%s%s%s)", strerror(-err),
				 libbpf_says[0] ? "; " : "", libbpf_says);
		sampler_bpf__destroy(skel);
		return err;
	}
	*out = skel;
	return 0;
}

static int attach_program(const struct sampler_bpf *skel, enum event_kind kind, int event)
{
	int program = bpf_program__fd(kind == EVENT_TRACEPOINT ? skel->progs.on_tracepoint : skel->progs.on_event);

	return ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ? -errno : 0;
}

static int bpf_probe(const struct sampler_config *config, char *why, size_t why_size)
{
	struct perf_event_attr attr;
	struct sampler_bpf *skel;
	enum event_kind kind;
	int err, event;

	err = set_up_attr(config, &attr, &kind, why, why_size);
	if (!err)
		err = check_privilege(why, why_size);
	if (err)
		return err;
	event = open_event(&attr, 0, -1);
	if (event < 0)
		return explain_event(config, -errno, why, why_size);
	err = load(kind, is_cpu_clock(&attr), &skel, why, why_size);
	if (!err) {
		err = attach_program(skel, kind, event);
		if (err)
			snprintf(why, why_size, "the kernel does not let a BPF program handle the event %s: %s",
				 config->event, strerror(-err));
		sampler_bpf__destroy(skel);
	}
	close(event);
	return err;
}

/* ---- start ---------------------------------------------------------------------- */

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void bpf_destroy(struct sampler *s)
{
	struct watched *w, *next;
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n_events; i++)
		close(s->events[i]);
	free(s->events);
	HASH_ITER (hh, s->watched, w, next) {
		HASH_DEL(s->watched, w);
		free(w);
	}
	free(s->births);
	rings_close(s->rings);
	sideband_close(s->sideband);
	follow_free(s->follow);
	places_free(s->places);
	reorder_free(&s->queue);
	if (s->skel)
		sampler_bpf__destroy(s->skel);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

static int on_sample(void *ctx, const struct pcce_sample *sample, size_t size)
{
	struct sampler *s = ctx;
	void *blob = reorder_add(&s->queue, sample->time, BLOB_SAMPLE, size);

	if (!blob)
		return -ENOMEM;
	memcpy(blob, sample, size);
	s->taken++;
	return 0;
}

static int bpf_prepare(const struct sampler_config *config, struct sampler **out, char *why, size_t why_size)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int err;

	snprintf(why, why_size, "out of memory");
	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = s->epoll < 0 ? -errno : set_up_attr(config, &s->attr, &s->kind, why, why_size);
	if (!err)
		err = load(s->kind, is_cpu_clock(&s->attr), &s->skel, why, why_size);
	if (!err)
		err = sideband_open(&s->sideband, why, why_size);
	if (err)
		goto fail;
	raise_file_limit();
	err = -ENOMEM;
	snprintf(why, why_size, "out of memory");
	s->follow = follow_new();
	s->places = places_new((int64_t *)s->skel->bss->offsets, &s->skel->bss->n_offsets, SAMPLER_OFFSETS);
	if (!s->follow || !s->places)
		goto fail;
	if (config->program)
		places_program(s->places, config->program);
	err = rings_open(bpf_map__fd(s->skel->maps.controls), bpf_map__fd(s->skel->maps.rings),
			 libbpf_num_possible_cpus(), &s->rings);
	if (!err)
		err = sideband_watch(s->sideband, s->epoll);
	if (err) {
		snprintf(why, why_size, "the rings cannot be mapped: %s", strerror(-err));
		goto fail;
	}
	*out = s;
	return 0;
fail:
	bpf_destroy(s);
	return err;
}

static int add_event(struct sampler *s, pid_t tid, int cpu)
{
	int event, err, *grown;

	event = open_event(&s->attr, tid, cpu);
	if (event < 0)
		return -errno;
	err = attach_program(s->skel, s->kind, event);
	grown = err ? NULL : realloc(s->events, (s->n_events + 1) * sizeof(*grown));
	if (!grown) {
		close(event);
		return err ? err : -ENOMEM;
	}
	s->events = grown;
	s->events[s->n_events++] = event;
	return 0;
}

static int watch(struct sampler *s, pid_t tid, uint64_t since)
{
	struct watched *w = malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->tid = tid;
	w->since = since;
	HASH_ADD_INT(s->watched, tid, w);
	return 0;
}

static struct watched *watched(const struct sampler *s, pid_t tid)
{
	struct watched *w;

	HASH_FIND_INT(s->watched, &tid, w);
	return w;
}

/* The side band, while events are being opened: it is kept for the sink, and births are noted. */
static int on_sideband(void *ctx, const struct sideband_event *e)
{
	struct sampler *s = ctx;
	size_t name = strlen(e->name) + 1;
	char *blob = reorder_add(&s->queue, e->time, BLOB_SIDEBAND, sizeof(*e) + name);
	struct birth *grown;

	if (!blob)
		return -ENOMEM;
	memcpy(blob, e, sizeof(*e));
	memcpy(blob + sizeof(*e), e->name, name);
	if (!s->config.target || !s->snapshot_due || e->type != SIDEBAND_FORK || e->pid != s->pid)
		return 0;
	grown = realloc(s->births, (s->n_births + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->births = grown;
	s->births[s->n_births++] = (struct birth){e->tid, e->ptid, e->time};
	return 0;
}

/* Was this thread born with an event? */
static bool inherited(const struct sampler *s, pid_t tid, uint64_t *since)
{
	size_t i;

	for (i = 0; i < s->n_births; i++) {
		const struct birth *b = &s->births[i];
		const struct watched *parent;

		if (b->tid != tid)
			continue;
		parent = watched(s, b->parent);
		*since = b->time;
		return parent && b->time >= parent->since;
	}
	return false;
}

/* Gives events to all threads of the target that have none. The number of threads that were new, or -errno. */
static int watch_threads(struct sampler *s)
{
	char path[64];
	struct dirent *entry;
	int fresh = 0, err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while (!err && (entry = readdir(d))) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		uint64_t since = 0;

		if (tid <= 0 || watched(s, tid))
			continue;
		err = sideband_read(s->sideband, on_sideband, s);
		if (err)
			break;
		if (!inherited(s, tid, &since)) {
			err = add_event(s, tid, -1);
			if (err == -ESRCH) { /* it has ended */
				err = 0;
				continue;
			}
			since = now();
		}
		if (!err)
			err = watch(s, tid, since);
		fresh++;
	}
	closedir(d);
	return err ? err : fresh;
}

static int follow_by_map(struct sampler *s, pid_t pid, bool armed)
{
	struct sampler_process p = {.armed = armed};
	uint32_t key = (uint32_t)pid;

	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.processes), &key, &p, BPF_ANY);
}

static int start_tracepoint(struct sampler *s, char *why, size_t why_size)
{
	int err;

	/* One event for the tracepoint as a whole; which task or CPU it names makes no difference to the program. */
	s->attr.inherit = 0;
	s->attr.freq = 0;
	s->attr.sample_period = 1;
	if (sampler_bpf__attach(s->skel)) {
		snprintf(why, why_size, "the programs that follow fork and exec cannot be attached: %s",
			 strerror(errno));
		return -errno;
	}
	err = follow_by_map(s, s->pid, s->config.target);
	if (!err)
		err = add_event(s, -1, 0);
	if (!err && ioctl(s->events[0], PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	return err ? explain_event(&s->config, err, why, why_size) : 0;
}

static int start_command(struct sampler *s, char *why, size_t why_size)
{
	int err;

	s->attr.enable_on_exec = 1;
	err = add_event(s, s->pid, -1);
	return err ? explain_event(&s->config, err, why, why_size) : 0;
}

static int start_running(struct sampler *s, char *why, size_t why_size)
{
	size_t i;
	int fresh;

	/* Until two looks in a row find the same threads: what is born after that has an event. */
	while ((fresh = watch_threads(s)) > 0)
		;
	if (fresh < 0) {
		if (fresh == -ESRCH)
			snprintf(why, why_size, "process %d has ended", (int)s->pid);
		else
			explain_event(&s->config, fresh, why, why_size);
		return fresh;
	}
	for (i = 0; i < s->n_events; i++)
		if (ioctl(s->events[i], PERF_EVENT_IOC_ENABLE, 0))
			return explain_event(&s->config, -errno, why, why_size);
	return 0;
}

static int bpf_start(struct sampler *s, pid_t pid, char *why, size_t why_size)
{
	int err;

	/* The rings must be read in time even if everything that is recorded keeps the CPUs busy. Without the right to
	 * do that, it has to work as it is. */
	setpriority(PRIO_PROCESS, 0, -10);
	s->pid = pid;
	s->start = now();
	s->snapshot_due = true;
	err = follow_add(s->follow, pid, 1, "", s->start);
	if (err) {
		snprintf(why, why_size, "out of memory");
		return err;
	}
	if (s->kind == EVENT_TRACEPOINT)
		return start_tracepoint(s, why, why_size);
	return s->config.target ? start_running(s, why, why_size) : start_command(s, why, why_size);
}

/* ---- delivery ------------------------------------------------------------------- */

/* The sink with one more ear: what is mapped may tell where pages are. */
static int map_heard(void *ctx, uint64_t time, pid_t pid, uint64_t start, uint64_t length, uint64_t pgoff,
		     const char *path)
{
	struct sampler *s = ctx;

	places_map(s->places, pid, start, length, pgoff, path);
	return s->sink->map(s->sink->ctx, time, pid, start, length, pgoff, path);
}

static int process_heard(void *ctx, uint64_t time, pid_t pid, pid_t ppid, uint32_t flags, const char *comm)
{
	struct sampler *s = ctx;

	return s->sink->process(s->sink->ctx, time, pid, ppid, flags, comm);
}

static int thread_heard(void *ctx, uint64_t time, pid_t pid, pid_t tid, const char *comm)
{
	struct sampler *s = ctx;

	return s->sink->thread(s->sink->ctx, time, pid, tid, comm);
}

static int lost_heard(void *ctx, uint64_t time, uint32_t reason, uint64_t count)
{
	struct sampler *s = ctx;

	return s->sink->lost(s->sink->ctx, time, reason, count);
}

static int deliver(void *ctx, uint32_t kind, const void *blob, size_t size)
{
	struct sampler *s = ctx;
	const struct pcce_sample *sample = blob;
	struct sampler_sink ears = {
		.ctx = s, .process = process_heard, .thread = thread_heard, .map = map_heard, .lost = lost_heard};
	struct sideband_event e;

	(void)size;
	if (kind == BLOB_SAMPLE)
		return s->sink->sample(s->sink->ctx, sample, (const struct pcce_entry *)(sample + 1), NULL);
	memcpy(&e, blob, sizeof(e));
	e.name = (const char *)blob + sizeof(e);
	return follow_event(s->follow, &e, &ears);
}

static int count_drops(struct sampler *s)
{
	uint64_t total = rings_dropped(s->rings), fresh = total - s->drops;

	s->drops = total;
	return fresh ? s->sink->lost(s->sink->ctx, now(), PCCE_LOSS_RING, fresh) : 0;
}

static int throttled(struct sampler *s, uint64_t total)
{
	uint64_t fresh = total - s->throttled;

	s->throttled = total;
	return fresh ? s->sink->lost(s->sink->ctx, now(), PCCE_LOSS_THROTTLE, fresh) : 0;
}

/* Each time that the kernel throttles an event costs a sample at least. */
static int count_throttlings(struct sampler *s)
{
	return throttled(s, rings_throttled(s->rings));
}

/*
 * How many samples throttling has cost in all is known of clocks: as many as the time that the events were on a CPU
 * is worth, less those that there are.  (Without throttling, some are missing too, as when a virtual machine's CPU was
 * taken away: that is not counted.)  A kernel that does not tell the program that it throttles (before 6.2) does so to
 * a clock only if the limit is too low for it.
 */
static int count_throttled(struct sampler *s)
{
	struct {
		uint64_t count, running;
	} value;
	uint64_t running = 0, period = s->attr.freq ? 1000000000 / s->attr.sample_freq : s->attr.sample_period, due;
	size_t i;

	if (s->kind != EVENT_CLOCK)
		return 0;
	if (!s->throttled) {
		unsigned int limit = s->skel->rodata->event_known ? 0 : sample_rate_limit();

		if (!limit || limit >= 1000000000 / period)
			return 0;
	}
	for (i = 0; i < s->n_events; i++)
		if (read(s->events[i], &value, sizeof(value)) == sizeof(value))
			running += value.running;
	due = running / period;
	return due > s->taken + s->drops + s->throttled ? throttled(s, due - s->taken - s->drops) : 0;
}

/* The first thing the sink hears: what the process is, before anything happens to it. */
static int introduce(struct sampler *s)
{
	struct sampler_sink ears = {
		.ctx = s, .process = process_heard, .thread = thread_heard, .map = map_heard, .lost = lost_heard};
	char path[64];
	struct stat st;

	s->snapshot_due = false;
	if (!s->config.target)
		return s->sink->process(s->sink->ctx, s->start, s->pid, getpid(), 0, "pcce-record");
	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	if (!stat(path, &st) && st.st_nlink > 2)
		follow_add(s->follow, s->pid, (unsigned int)st.st_nlink - 2, "", s->start);
	return follow_snapshot(s->pid, s->start, &ears);
}

static int turn(struct sampler *s, const struct sampler_sink *sink, bool last)
{
	uint64_t limit = now() - MARGIN;
	int err = 0;

	s->sink = sink;
	if (s->snapshot_due)
		err = introduce(s);
	if (!err)
		err = rings_read(s->rings, on_sample, s);
	if (!err)
		err = sideband_read(s->sideband, on_sideband, s);
	if (!err)
		err = reorder_flush(&s->queue, last ? UINT64_MAX : limit, deliver, s);
	if (!err)
		err = count_drops(s);
	if (!err)
		err = count_throttlings(s);
	if (!err && last)
		err = count_throttled(s);
	places_retry(s->places);
	s->sink = NULL;
	return err;
}

static int bpf_poll(struct sampler *s, const struct sampler_sink *sink, int timeout_ms)
{
	int turn_ms = rings_busy(s->rings) ? BUSY_TURN : TURN;
	struct epoll_event event;

	/* Nothing wakes us for samples: they wait in the rings for a turn. */
	if (epoll_wait(s->epoll, &event, 1, timeout_ms < turn_ms ? timeout_ms : turn_ms) < 0 && errno != EINTR)
		return -errno;
	return turn(s, sink, false);
}

static int bpf_stop(struct sampler *s, const struct sampler_sink *sink)
{
	size_t i;

	for (i = 0; i < s->n_events; i++)
		ioctl(s->events[i], PERF_EVENT_IOC_DISABLE, 0);
	return turn(s, sink, true);
}

const struct sampler_ops sampler_bpf = {
	.name = "bpf",
	.probe = bpf_probe,
	.prepare = bpf_prepare,
	.start = bpf_start,
	.poll = bpf_poll,
	.stop = bpf_stop,
	.destroy = bpf_destroy,
};

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * load [namespace]
 *
 * Loads the BPF program into the running kernel and checks the samples that it takes, for each kind
 * of event. With the argument it does so in a pid namespace, where the program translates numbers,
 * for an event of each kind of program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pcce/sample.h>

#include "bpf/sampler.h"
#include "guest.h"
#include "made_page.h"
#include "sampler/bpf_load.h"
#include "sampler/bpf_ring.h"

#define MOST_FOLLOWED 100000
#define SAMPLES 50     /* at least, of each shape */
#define PATIENCE 60000 /* ms */
#define ID 0x123456789aULL
#define EXT 0x4321ULL

static char *fresh; /* a page that faults */

static const char *const events[] = {
	"cpu-clock", "task-clock",    "page-faults", "syscalls:sys_enter_getppid",
	"off-cpu",   "uprobe:probed", "lock"};

static const struct shape {
	const char *name;
	unsigned int entries, below;
	bool upper;
} shapes[] = {
	{"no entries", 0, 0, false},
	{"7 entries", 7, 0, false},
	{"16 entries", 16, 0, false},
	{"9 entries, 2 segments below", 9, 2, false},
	{"1 entry in the upper half", 1, 1, true},
	{"8 entries in the upper half", 8, 1, true},
	{"16 entries in the upper half, 299 segments below", 16, SEGMENTS - 1, true},
};

/* ---- the samples ---------------------------------------------------------------------- */

struct check {
	const struct shape *shape;
	unsigned int samples, bad;
	uint64_t carried; /* segments, by samples without weight */
	struct pcce_sample first_bad;
};

static bool is_right(const struct pcce_sample *s, const struct shape *shape)
{
	const struct pcce_entry *e = pcce_sample_entries(s);
	unsigned int i;

	if (s->flags & (PCCE_SAMPLE_OUTSIDE | PCCE_SAMPLE_READ_FAULT) || s->id != ID ||
	    s->ext != EXT || s->pid != (uint32_t)getpid() ||
	    s->tid != (uint32_t)syscall(SYS_gettid) || s->n_entries != shape->entries ||
	    s->n_below != shape->below ||
	    s->below != (shape->below ? area[shape->below - 1].generation : 0))
		return false;
	for (i = 0; i < s->n_entries; i++)
		if (e[i].id != made_entry(i).id || e[i].site != made_entry(i).site)
			return false;
	return !s->n_segments || pcce_sample_segments(s)[s->n_segments - 1].generation >= 1000;
}

static int count(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	struct check *c = ctx;

	(void)size;
	(void)kernel;
	if (s->flags & PCCE_SAMPLE_CARRIER) {
		c->carried += s->n_segments;
		return 0;
	}
	c->samples++;
	if (!is_right(s, c->shape) && !c->bad++)
		c->first_bad = *s;
	return 0;
}

__attribute__((noinline, noclone)) static void probed(void)
{
	asm volatile("");
}

/* Waits until a timeout ends it. */
static void wait_for_futex(void)
{
	struct timespec t = {.tv_nsec = 1500000};
	int word = 0;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static void provoke(enum perf_event_kind kind)
{
	unsigned int i;

	if (kind == PERF_EVENT_CLOCK) {
		burn_ms(10);
		return;
	}
	for (i = 0; i < SAMPLES; i++) {
		if (kind == PERF_EVENT_TRACEPOINT) {
			syscall(SYS_getppid);
		} else if (kind == PERF_EVENT_PROBE) {
			probed();
		} else if (kind == PERF_EVENT_WAITS) {
			usleep(1500);
		} else if (kind == PERF_EVENT_LOCKS) {
			wait_for_futex();
		} else {
			madvise(fresh, 4096, MADV_DONTNEED);
			*(volatile char *)fresh = 1;
		}
	}
}

/* ---- the program ------------------------------------------------------------------------ */

struct loaded {
	struct sampler_bpf *skel;
	struct bpf_ring *rings;
	struct probe_event probe;
	enum perf_event_kind kind;
	int event;
};

static bool stop(const char *what, const char *event, const char *why)
{
	result(false, "%s: %s", event, what);
	printf("#   %s\n", why);
	return false;
}

static int follow(const struct loaded *l)
{
	return sampler_bpf__attach(l->skel) ? -errno : bpf_program_follow(l->skel, getpid(), true);
}

/* Returns the most instructions that the verifier has followed in one of the programs. Kernels
 * before 5.16 do not tell. */
static unsigned int followed(const struct sampler_bpf *skel)
{
	unsigned int most = 0;
	struct bpf_program *p;

	bpf_object__for_each_program(p, skel->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		if (bpf_program__fd(p) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size) &&
		    info.verified_insns > most)
			most = info.verified_insns;
	}
	return most;
}

static bool load(const char *event, struct loaded *l)
{
	struct sampler_event config = {.period = 1};
	struct perf_event_attr attr;
	struct error why;
	struct bpf_program_config wanted = {.attr = &attr, .wait_period = 1000000, .running = true};
	bool system;
	int err;

	if (strstr(event, "clock")) {
		config.frequency = 1000;
		config.period = 0;
	}
	memset(l, 0, sizeof(*l));
	snprintf(config.name, sizeof(config.name), "%s", event);
	if (perf_event_make_attr(&config, &attr, &l->kind, &why))
		return stop("the event is known", event, why.text);
	if (l->kind == PERF_EVENT_PROBE) {
		if (probe_event_find(event, "/proc/self/exe", &l->probe, &why))
			return stop("the place is found", event, why.text);
		probe_event_set(&l->probe, 0, &attr);
	}
	/* The verifier judges each of these as another program. */
	for (int copy = SAMPLER_COPY_ALL; copy >= SAMPLER_COPY_NONE; copy--) {
		wanted.kind = l->kind;
		wanted.holders = l->kind == PERF_EVENT_LOCKS;
		wanted.copy = (enum sampler_copy)copy;
		wanted.guarded = perf_event_kind_waits(l->kind) || l->kind == PERF_EVENT_PROBE ||
				 copy == SAMPLER_COPY_PAGE;
		if (bpf_program_load(&wanted, &l->skel, &why))
			return stop("the kernel loads the program", event, why.text);
		if (copy == SAMPLER_COPY_NONE)
			break;
		sampler_bpf__destroy(l->skel);
		l->skel = NULL;
	}
	result(true, "%s: the kernel loads the program", event);
	/* Each start of a recording pays for it. */
	result(followed(l->skel) <= MOST_FOLLOWED, "%s: ... after %u instructions", event,
	       followed(l->skel));
	l->skel->bss->offsets[0] = (char *)&page - (char *)__builtin_thread_pointer();
	l->skel->bss->n_offsets = 1;
	system = l->kind == PERF_EVENT_TRACEPOINT || l->kind == PERF_EVENT_PROBE ||
		 perf_event_kind_waits(l->kind);
	attr.inherit = !system;
	err = bpf_ring_open(bpf_map__fd(l->skel->maps.controls), bpf_map__fd(l->skel->maps.rings),
			    libbpf_num_possible_cpus(), &l->rings);
	if (!err && system)
		err = follow(l);
	l->event = -1;
	if (!err && !perf_event_kind_waits(l->kind)) {
		l->event = perf_event_create(&attr, system ? -1 : 0, system ? 0 : -1);
		err = l->event < 0 ? -errno : 0;
	}
	if (!err && !perf_event_kind_waits(l->kind))
		err = bpf_program_attach(l->skel, l->kind, l->event);
	return err ? stop("the program is attached", event, strerror(-err)) : true;
}

static void unload(struct loaded *l)
{
	if (l->event >= 0)
		close(l->event);
	bpf_ring_close(l->rings);
	probe_event_free(&l->probe);
	if (l->skel)
		sampler_bpf__destroy(l->skel);
}

/* Returns whether all samples of the shape are right; otherwise it says what is wrong. */
static bool sample(struct loaded *l, const char *event, const struct shape *shape)
{
	struct watch w = watch_new(1000);
	struct check c = {.shape = shape};

	make_page(shape->entries, shape->below, shape->upper);
	page.id = ID;
	page.ext = EXT;
	do {
		if (l->event >= 0)
			ioctl(l->event, PERF_EVENT_IOC_ENABLE, 0);
		provoke(l->kind);
		if (l->event >= 0)
			ioctl(l->event, PERF_EVENT_IOC_DISABLE, 0);
		bpf_ring_read(l->rings, count, &c);
	} while (c.samples < SAMPLES && watch_ms(&w) < PATIENCE);
	if (c.samples >= SAMPLES && !c.bad)
		return true;
	printf("# %s: %s: %u samples, %u wrong; the first: flags %#x, id %#llx, ext %#llx, "
	       "process %u, thread %u, %u entries, %u segments below (%llu)\n",
	       event, shape->name, c.samples, c.bad, c.first_bad.flags,
	       (unsigned long long)c.first_bad.id, (unsigned long long)c.first_bad.ext,
	       c.first_bad.pid, c.first_bad.tid, c.first_bad.n_entries, c.first_bad.n_below,
	       (unsigned long long)c.first_bad.below);
	return false;
}

/* Continues in a child that is the first process of a pid namespace. */
static void enter_namespace(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID)) {
		result(false, "there are pid namespaces");
		exit(1);
	}
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
}

int main(int argc, char **argv)
{
	size_t i = 0, j;

	if (argc > 1 && !strcmp(argv[1], "namespace")) {
		enter_namespace();
		i = 2;
	}
	make_area();
	fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		abort();
	for (; i < sizeof(events) / sizeof(events[0]); i++) {
		struct loaded l;

		if (load(events[i], &l)) {
			bool good = true;

			for (j = 0; j < sizeof(shapes) / sizeof(shapes[0]); j++)
				good &= sample(&l, events[i], &shapes[j]);
			result(good, "%s: all samples are right", events[i]);
		}
		unload(&l);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the side band with one dummy perf event per CPU, for all processes.
 *
 * It is system-wide, because a recording can follow thousands of threads. Events per thread would
 * need one descriptor for each thread on each CPU. The reader selects the followed processes. The
 * kernel never overwrites records. It counts the records that do not fit (SIDEBAND_LOST).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "sampler/perf_sideband.h"

/* Together with the control page, less than the 516 KB that each user may lock per CPU. */
#define DATA_BYTES (256u << 10)
#define PAGE 4096u

struct ring {
	int fd;
	struct perf_event_mmap_page *control;
	const uint8_t *data;
};

struct perf_sideband {
	struct ring *rings;
	int n;
	/* Copy of a record that wraps around the end of the ring; its size has 16 bits. */
	_Alignas(8) uint8_t record[65536 + 8];
};

static int open_sideband_ring(struct ring *r, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = DATA_BYTES / 4,
	};
	void *map;

	r->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	map = mmap(NULL, PAGE + DATA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (map == MAP_FAILED) {
		int err = -errno;

		close(r->fd);
		return err;
	}
	r->control = map;
	r->data = (const uint8_t *)map + r->control->data_offset;
	return 0;
}

int perf_sideband_open(struct perf_sideband **out, struct error *why)
{
	int cpus = libbpf_num_possible_cpus(), cpu, err;
	struct perf_sideband *s;

	if (cpus < 0)
		return error_set(why, cpus, "cannot read the number of CPUs: %s", strerror(-cpus));
	s = calloc(1, sizeof(*s));
	if (s)
		s->rings = calloc((size_t)cpus, sizeof(*s->rings));
	if (!s || !s->rings) {
		free(s);
		return error_set(why, -ENOMEM, "out of memory");
	}
	for (cpu = 0; cpu < cpus; cpu++) {
		err = open_sideband_ring(&s->rings[s->n], cpu);
		if (err == -ENODEV) /* the CPU is offline */
			continue;
		if (err) {
			error_set(why, 0,
				  "cannot watch processes and mappings: perf_event_open for CPU "
				  "%d: %s",
				  cpu, strerror(-err));
			perf_sideband_close(s);
			return err;
		}
		s->n++;
	}
	*out = s;
	return 0;
}

void perf_sideband_close(struct perf_sideband *s)
{
	int i;

	if (!s)
		return;
	for (i = 0; i < s->n; i++) {
		munmap(s->rings[i].control, PAGE + DATA_BYTES);
		close(s->rings[i].fd);
	}
	free(s->rings);
	free(s);
}

int perf_sideband_watch(const struct perf_sideband *s, int epoll)
{
	/* Edge-triggered: a ring that holds a few records is readable all the time. */
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int i;

	for (i = 0; i < s->n; i++)
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, s->rings[i].fd, &event))
			return -errno;
	return 0;
}

/* Bodies of the records, after struct perf_event_header; the time follows each (sample_id_all). */
struct task_body { /* FORK, EXIT */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm_body {
	uint32_t pid, tid;
	char comm[];
};

struct mmap2_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, generation;
	uint32_t prot, flags;
	char path[];
};

struct lost_body {
	uint64_t id, lost;
};

/* Converts a record to an event. False: it is malformed or not needed. */
static bool parse_record(const struct perf_event_header *h, struct perf_sideband_event *e)
{
	const uint8_t *body = (const uint8_t *)(h + 1), *end = (const uint8_t *)h + h->size;
	size_t size = h->size - sizeof(*h);

	if (size < 16)
		return false;
	memset(e, 0, sizeof(*e));
	e->name = "";
	end -= sizeof(uint64_t);
	memcpy(&e->time, end, sizeof(uint64_t));
	size -= sizeof(uint64_t);
	switch (h->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: {
		const struct task_body *b = (const struct task_body *)body;

		if (size < sizeof(*b))
			return false;
		e->type = h->type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
		e->pid = (pid_t)b->pid;
		e->tid = (pid_t)b->tid;
		e->ppid = (pid_t)b->ppid;
		e->ptid = (pid_t)b->ptid;
		e->time = b->time;
		return true;
	}
	case PERF_RECORD_COMM: {
		const struct comm_body *b = (const struct comm_body *)body;

		if (size <= sizeof(*b) || !memchr(b->comm, 0, size - sizeof(*b)))
			return false;
		e->type = h->misc & PERF_RECORD_MISC_COMM_EXEC ? SIDEBAND_EXEC : SIDEBAND_COMM;
		e->pid = (pid_t)b->pid;
		e->tid = (pid_t)b->tid;
		e->name = b->comm;
		return true;
	}
	case PERF_RECORD_MMAP2: {
		const struct mmap2_body *b = (const struct mmap2_body *)body;

		if (size <= sizeof(*b) || !memchr(b->path, 0, size - sizeof(*b)))
			return false;
		e->type = SIDEBAND_MAP;
		e->pid = (pid_t)b->pid;
		e->tid = (pid_t)b->tid;
		e->start = b->addr;
		e->length = b->len;
		e->pgoff = b->pgoff;
		e->ino = b->ino;
		e->name = b->path;
		return true;
	}
	case PERF_RECORD_LOST: {
		const struct lost_body *b = (const struct lost_body *)body;

		if (size < sizeof(*b))
			return false;
		e->type = SIDEBAND_LOST;
		e->count = b->lost;
		return true;
	}
	}
	return false;
}

static int read_sideband_ring(struct perf_sideband *s, struct ring *r,
			      int (*event)(void *, const struct perf_sideband_event *), void *ctx)
{
	/* Pairs with the kernel's barrier between the data and data_head. */
	uint64_t head = __atomic_load_n(&r->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->control->data_tail;
	int err = 0;

	while (!err && tail < head) {
		size_t at = tail & (DATA_BYTES - 1), size;
		const struct perf_event_header *h =
			(const struct perf_event_header *)(r->data + at);
		struct perf_sideband_event e;

		size = h->size; /* records are 8-aligned: the header itself never wraps around */
		if (size < sizeof(*h) || size > head - tail) {
			tail = head;
			break;
		}
		if (at + size > DATA_BYTES) {
			size_t first = DATA_BYTES - at;

			memcpy(s->record, h, first);
			memcpy(s->record + first, r->data, size - first);
			h = (const struct perf_event_header *)s->record;
		}
		if (parse_record(h, &e))
			err = event(ctx, &e);
		tail += size;
	}
	/* Everything before the tail has been read, so the kernel may overwrite it. */
	__atomic_store_n(&r->control->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

int perf_sideband_read(struct perf_sideband *s,
		       int (*event)(void *ctx, const struct perf_sideband_event *e), void *ctx)
{
	int i, err = 0;

	for (i = 0; i < s->n && !err; i++)
		err = read_sideband_ring(s, &s->rings[i], event, ctx);
	return err;
}

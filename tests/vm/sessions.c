/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tests what sessions deliver: each scope, threads and children, losses, the watermark. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "begin_session.h"
#include "guest.h"
#include "sampler/kmod_session.h"

struct seen {
	unsigned int samples, records, other_pids, tids, odd;
	uint64_t weight, count;
	uint32_t tid[64];
	uint32_t pid; /* expected */
};

static int look(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	struct seen *seen = ctx;
	unsigned int i;

	(void)kernel;
	(void)size;
	seen->records++;
	seen->samples++;
	seen->weight += s->weight;
	seen->count += s->flags & PCCE_SAMPLE_COUNTED ? s->sp : 1;
	seen->other_pids += s->pid != seen->pid;
	seen->odd += !s->weight || s->n_entries > PCCE_SEGMENT_ENTRIES ||
		     s->n_segments > s->n_below || !s->time || s->ip >> 47;
	for (i = 0; i < seen->tids && seen->tid[i] != s->tid; i++)
		;
	if (i == seen->tids && i < 64)
		seen->tid[seen->tids++] = s->tid;
	return 0;
}

static struct kmod_session *start(struct pcce_kmod_setup c)
{
	return begin_session(&c, NULL);
}

static struct seen stop(struct kmod_session *k, pid_t pid)
{
	struct seen seen = {.pid = (uint32_t)pid};
	long err = kmod_session_stop(k);

	if (!err)
		err = kmod_session_read(k, look, &seen);
	if (err)
		expect("a session can be read", err, 0);
	kmod_session_close(k);
	return seen;
}

static void *busy(void *arg)
{
	burn_ms(*(unsigned int *)arg);
	return NULL;
}

static void run_threads(int n, unsigned int ms)
{
	pthread_t t[16];
	int i;

	for (i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, busy, &ms))
			abort();
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* Works until there are n samples, however long that takes.  The emulator's CPUs may get little
 * time of the real ones. */
static void until(const struct kmod_session *k, unsigned int n, void (*work)(void))
{
	struct pcce_kmod_stats stats;
	int i;

	for (i = 0; i < 600; i++) {
		work();
		if (kmod_session_stats((struct kmod_session *)(uintptr_t)k, &stats) ||
		    stats.samples >= n)
			return;
	}
}

static void some_threads(void)
{
	run_threads(4, 50);
}

static void some_work(void)
{
	burn_ms(50);
}

static void some_sleep(void)
{
	usleep(50000);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void processes(void)
{
	struct pcce_kmod_setup c = usual_setup();
	unsigned int ms = 300;
	struct kmod_session *k;
	struct seen seen;
	pthread_t before;
	pid_t child;

	/* Samples a thread that exists before, and threads that come after. */
	pthread_create(&before, NULL, busy, &ms);
	k = start(c);
	until(k, 100, some_threads);
	pthread_join(before, NULL);
	seen = stop(k, getpid());
	result(seen.samples >= 100 && !seen.other_pids && !seen.odd && seen.tids >= 3,
	       "PROCESS: its threads, old and new (%u samples of %u threads)", seen.samples,
	       seen.tids);

	k = start(c);
	child = fork();
	if (child == 0)
		for (;;)
			burn_ms(1000);
	until(k, 100, some_sleep);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	seen = stop(k, child);
	result(seen.samples - seen.other_pids > 50 && !seen.odd, "PROCESS: a child (%u samples)",
	       seen.samples);

	c.scope = PCCE_KMOD_TASK;
	c.pid = (int)syscall(SYS_gettid);
	k = start(c);
	run_threads(2, 100);
	until(k, 20, some_work);
	seen = stop(k, getpid());
	result(seen.samples >= 20 && seen.tids == 1 && seen.tid[0] == (uint32_t)getpid(),
	       "TASK: one thread only");
}

static void cpus(void)
{
	struct pcce_kmod_setup c = usual_setup();
	struct kmod_session *k;
	struct seen seen;

	/* Other threads are sampled as well, whichever run. */
	on_cpu(1);
	c.scope = PCCE_KMOD_CPU;
	c.cpu = 1;
	k = start(c);
	until(k, 50, some_work);
	seen = stop(k, getpid());
	result(seen.samples - seen.other_pids > 20 && !seen.odd, "CPU: what runs on it");
	c.cpu = 0;
	k = start(c);
	burn_ms(100);
	seen = stop(k, getpid());
	result(seen.samples == seen.other_pids, "CPU: not what runs on another");
	c.scope = PCCE_KMOD_SYSTEM;
	c.cpu = -1;
	k = start(c);
	until(k, 100, some_work);
	seen = stop(k, getpid());
	result(seen.samples - seen.other_pids > 20 && !seen.odd, "SYSTEM: what runs anywhere");
	on_cpu(0);
}

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

static int look_at_cpu1(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	struct seen *seen = ctx;

	(void)kernel;
	(void)size;
	seen->samples += s->cpu == 1 && s->pid == seen->pid;
	return 0;
}

/* Takes CPU 1 off line, before or after START, and samples this process there when it is back. */
static void comes_back(const char *name, uint32_t scope, uint64_t type, bool before)
{
	struct pcce_kmod_setup c = usual_setup();
	struct seen seen = {.pid = (uint32_t)getpid()};
	struct pcce_kmod_stats stats;
	struct kmod_session *k;
	struct timespec a, b;
	uint64_t most;
	long err = 0;
	int i;

	c.scope = scope;
	c.cpu = scope == PCCE_KMOD_CPU ? 1 : -1;
	c.ring_bytes = 4 << 20;
	c.rate = 5000;
	if (type) {
		c.type = PERF_TYPE_TRACEPOINT;
		c.config = type;
		c.flags = 0;
		c.rate = 1;
	}
	on_cpu(0);
	if (before)
		write_to(CPU1, "0");
	k = start(c);
	if (!before)
		write_to(CPU1, "0");
	clock_gettime(CLOCK_MONOTONIC, &a);
	write_to(CPU1, "1");
	on_cpu(1);
	for (i = 0; i < 300 && !err && seen.samples < 20; i++) {
		burn_ms(20);
		syscall(SYS_getppid);
		err = kmod_session_read(k, look_at_cpu1, &seen);
	}
	kmod_session_stop(k);
	clock_gettime(CLOCK_MONOTONIC, &b);
	kmod_session_stats(k, &stats);
	most = type ? 1
		    : (uint64_t)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec) /
			       200000;
	result(!err && seen.samples >= 20, "%s: a CPU that comes back is sampled (%u samples)",
	       name, seen.samples);
	/* A CPU that was off line at START misses what is due while it starts: maybe nothing. */
	result((stats.dropped[PCCE_KMOD_DROP_HOTPLUG] > 0 || before) &&
		       stats.dropped[PCCE_KMOD_DROP_HOTPLUG] <= most,
	       "%s: ... and what it missed is counted (%llu)", name,
	       (unsigned long long)stats.dropped[PCCE_KMOD_DROP_HOTPLUG]);
	kmod_session_close(k);
	on_cpu(0);
}

static void hotplug(void)
{
	comes_back("CPU", PCCE_KMOD_CPU, 0, false);
	comes_back("SYSTEM", PCCE_KMOD_SYSTEM, 0, false);
	comes_back("SYSTEM, off line at START", PCCE_KMOD_SYSTEM, 0, true);
	comes_back("SYSTEM, a tracepoint", PCCE_KMOD_SYSTEM,
		   tracepoint("syscalls/sys_enter_getppid"), false);
}

/*
 * Threads create threads all the time while a session is being attached.  Each must have exactly
 * one event.  Each call of getppid is an event.
 */
#define TIDS 65536
static volatile bool enough, started;
static volatile unsigned short calls[TIDS], sure[TIDS],
	samples_of[TIDS];	 /* sure: calls after START */
static volatile int alive, born; /* born: after START */

static void *breed(void *arg)
{
	int tid = (int)syscall(SYS_gettid), i;
	pthread_t next;

	(void)arg;
	for (i = 0; i < 40; i++) {
		bool after = started;

		syscall(SYS_getppid);
		calls[tid]++;
		sure[tid] += after;
		if (i == 0 && after)
			__atomic_fetch_add(&born, 1, __ATOMIC_SEQ_CST);
		if (i == 20 && !enough) {
			__atomic_fetch_add(&alive, 1, __ATOMIC_SEQ_CST);
			if (pthread_create(&next, NULL, breed, NULL))
				abort();
			pthread_detach(next);
		}
	}
	__atomic_fetch_sub(&alive, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static int note(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	(void)kernel;
	(void)ctx;
	(void)size;
	samples_of[s->tid % TIDS]++;
	return 0;
}

static void attaching(void)
{
	struct pcce_kmod_setup c = usual_setup();
	unsigned int i, missing = 0, twice = 0, whole = 0;
	struct pcce_kmod_stats stats;
	struct kmod_session *k;

	c.type = PERF_TYPE_TRACEPOINT;
	c.config = tracepoint("syscalls/sys_enter_getppid");
	c.flags = 0;
	c.rate = 1;
	c.ring_bytes = 4 << 20;
	alive = 3;
	for (i = 0; i < 3; i++) {
		pthread_t t;

		pthread_create(&t, NULL, breed, NULL);
		pthread_detach(t);
	}
	burn_ms(20);
	k = start(c);
	/* As pcce-record does: an emulated CPU can be taken away for long in the middle of clone().
	 */
	for (i = 0; i < 4; i++) {
		burn_ms(50);
		if (kmod_session_attach(k, getpid(), 0))
			result(false, "ATTACH");
		kmod_session_read(k, note, NULL);
	}
	started = true;
	for (i = 0; i < 600 && born < 60; i++) {
		burn_ms(50);
		kmod_session_read(k, note, NULL);
	}
	enough = true;
	while (alive) {
		usleep(1000);
		kmod_session_read(k, note, NULL);
	}
	kmod_session_stop(k);
	kmod_session_read(k, note, NULL);
	kmod_session_stats(k, &stats);
	kmod_session_close(k);
	for (i = 0; i < TIDS; i++) {
		missing += samples_of[i] < sure[i];
		twice += samples_of[i] > calls[i];
		whole += sure[i] > 0;
	}
	result(whole > 20 && !missing && !twice && !stats.dropped[0] && !stats.dropped[1],
	       "threads that multiply: each has one event (%u threads, %u without, %u with two)",
	       whole, missing, twice);
}

static void losses(void)
{
	struct pcce_kmod_setup c = usual_setup();
	struct pcce_kmod_stats stats;
	struct pcce_kmod_reader *readers;
	struct pollfd p;
	unsigned int i;
	int fd = device();

	c.rate = 20000;
	c.watermark = 1024;
	request(fd, PCCE_KMOD_IOC_SETUP, &c);
	readers = mmap(NULL, c.reader_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	expect("poll: nothing yet", poll(&p, 1, 0), 0);
	request(fd, PCCE_KMOD_IOC_START, NULL);
	for (i = 0; i < 600 && !poll(&p, 1, 0); i++)
		burn_ms(50);
	expect("poll: above the watermark", poll(&p, 1, 1000), 1);
	/* Nothing reads the ring, whose 64 KB hold about 500 samples. */
	for (i = 0; i < 600; i++) {
		burn_ms(50);
		request(fd, PCCE_KMOD_IOC_STATS, &stats);
		if (stats.dropped[PCCE_KMOD_DROP_FULL])
			break;
	}
	result(stats.dropped[PCCE_KMOD_DROP_FULL] > 0 && stats.samples > 200,
	       "a full ring: drops are counted");
	/* Tails that are impossible. */
	for (i = 0; i < 200; i++) {
		readers[i % c.n_rings].tail = i % 2 ? ~0ULL - i * 977 : (uint64_t)i << (i % 64);
		burn_ms(1);
	}
	request(fd, PCCE_KMOD_IOC_STOP, NULL);
	request(fd, PCCE_KMOD_IOC_STATS, &stats);
	result(stats.dropped[PCCE_KMOD_DROP_FULL] > 0, "wrong tails do no harm");
	munmap(readers, c.reader_bytes);
	close(fd);
}

static void waking(void)
{
	struct pcce_kmod_setup c = usual_setup();
	int fd = device(), n;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	pid_t child = fork();

	if (child == 0) {
		burn_ms(60000);
		_exit(0);
	}
	c.pid = child;
	c.watermark = 4096;
	request(fd, PCCE_KMOD_IOC_SETUP, &c);
	request(fd, PCCE_KMOD_IOC_START, NULL);
	n = poll(&p, 1, 30000);
	result(n == 1 && p.revents == POLLIN, "the watermark wakes a sleeper");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fd);
}

static void weights(void)
{
	struct pcce_kmod_setup c = usual_setup();
	struct kmod_session *k;
	struct seen seen;
	char *memory;
	size_t i;

	c.config = PERF_COUNT_SW_PAGE_FAULTS;
	c.flags = PCCE_KMOD_WEIGHT_PERIOD;
	c.rate = 10;
	memory =
		mmap(NULL, 4096 * 4000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, 4096 * 4000, MADV_NOHUGEPAGE);
	k = start(c);
	for (i = 0; i < 2000; i++)
		memory[i * 4096] = 1;
	seen = stop(k, getpid());
	/* The pages of the stack, of the rings, ... are among them. */
	result(seen.weight >= 2000 && seen.weight < 2400 && seen.samples == seen.weight / 10,
	       "a sample of each tenth page fault has the weight 10 (%u samples, weight %llu)",
	       seen.samples, (unsigned long long)seen.weight);
	munmap(memory, 4096 * 4000);
}

int main(void)
{
	processes();
	cpus();
	hotplug();
	attaching();
	losses();
	waking();
	weights();
	return 0;
}

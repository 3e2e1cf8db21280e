/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests that the module keeps the kernel's rules: no handler works on freed memory, no request
 * stops others, nobody sees the kernel who may not, and perf's limits hold.
 *
 * Needs the module skid.ko (tests/vm/skid).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "sampler/kmod_session.h"

#define USER 1000
#define OTHER 1001
#define TRACING "/sys/kernel/tracing/"
#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"
#define UNPRIVILEGED "/sys/module/pcce_sampler/parameters/unprivileged"

static uint32_t event_source(const char *name)
{
	char path[256];
	unsigned int type = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%u", &type) != 1)
		result(false, "there is the source of events %s", name);
	if (f)
		fclose(f);
	return type;
}

/* ---- a START that fails ------------------------------------------------------------------ */

static void *wait_for_end(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Makes a process whose first thread the caller may sample, and whose second one it may not. */
static pid_t two_threads(void)
{
	int pipes[2];
	pthread_t t;
	pid_t pid;
	char byte;

	if (pipe2(pipes, O_CLOEXEC))
		abort();
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&t, NULL, wait_for_end, NULL))
			abort();
		/* Of this thread only. */
		if (syscall(SYS_setresgid, USER, USER, USER) || prctl(PR_SET_DUMPABLE, 1))
			abort();
		close(pipes[0]);
		close(pipes[1]);
		wait_for_end(NULL);
	}
	close(pipes[1]);
	if (read(pipes[0], &byte, 1))
		abort();
	close(pipes[0]);
	return pid;
}

static void mark(int marker, const char *text)
{
	if (write(marker, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
}

static void fail_to_start(int fd, int marker)
{
	struct pcce_kmod_setup c = usual_setup();
	pid_t pid;
	long err;

	if (setgroups(0, NULL) || setresgid(USER, USER, OTHER) || setresuid(USER, USER, USER))
		abort();
	pid = two_threads();
	c.flags |= PCCE_KMOD_EXCLUDE_KERNEL;
	c.pid = pid;
	expect("a process with threads of several rights: SETUP",
	       request(fd, PCCE_KMOD_IOC_SETUP, &c), 0);
	mark(marker, "begin");
	err = request(fd, PCCE_KMOD_IOC_START, NULL);
	mark(marker, "end");
	expect("... START", err, -EPERM);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Counts the events in the trace between the two marks. */
static unsigned int traced(const char *event)
{
	char line[512];
	unsigned int n = 0;
	bool between = false;
	FILE *f = fopen(TRACING "trace", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "tracing_mark_write: "))
			between = strstr(line, ": begin");
		n += between && strstr(line, event);
	}
	if (f)
		fclose(f);
	return n;
}

/* The first thread's event existed, so its handler may have been running. */
static void failed_start(void)
{
	char filter[64];
	int fd = device(), marker = open(TRACING "trace_marker", O_WRONLY | O_CLOEXEC), pipes[2];
	unsigned int waits;
	pid_t pid;
	char byte;

	if (pipe2(pipes, O_CLOEXEC))
		abort();
	write_to(UNPRIVILEGED, "Y");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (read(pipes[0], &byte, 1) != 1)
			abort();
		fail_to_start(fd, marker);
		fflush(stdout);
		_exit(0);
	}
	write_to(TRACING "kprobe_events", "p:pcce/grace synchronize_rcu\n");
	snprintf(filter, sizeof(filter), "common_pid == %d", (int)pid);
	write_to(TRACING "events/pcce/grace/filter", filter);
	write_to(TRACING "events/pcce/grace/enable", "1");
	if (write(pipes[1], "", 1) != 1)
		abort();
	waitpid(pid, NULL, 0);
	waits = traced("grace:");
	write_to(TRACING "events/pcce/grace/enable", "0");
	write_to(TRACING "kprobe_events", "-:pcce/grace\n");
	write_to(UNPRIVILEGED, "N");
	close(pipes[0]);
	close(pipes[1]);
	close(marker);
	close(fd);
	result(waits > 0, "a START that fails waits for running handlers");
}

/* ---- a creation that takes long ------------------------------------------------------------ */

static void *start_session(void *arg)
{
	request(*(int *)arg, PCCE_KMOD_IOC_START, NULL);
	return NULL;
}

/* Returns a page whose first use waits, also in the kernel, and sets the descriptor that ends the
 * wait. */
static void *slow_page(int *uffd)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register area = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	area.range.start = (uintptr_t)page;
	area.range.len = 4096;
	*uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (*uffd < 0 || ioctl(*uffd, UFFDIO_API, &api) || ioctl(*uffd, UFFDIO_REGISTER, &area))
		result(false, "a page fault can be delayed: %s", strerror(errno));
	return page;
}

/* The event is a probe. Its creation reads a path from a page that is not there yet. */
static void slow_creation(void)
{
	struct pcce_kmod_setup c = usual_setup();
	struct uffdio_zeropage fill = {0};
	struct pollfd fault = {.events = POLLIN};
	struct watch w;
	int fd = device(), pipes[2], status = -1;
	pthread_t starter;
	pid_t child;
	char byte;

	if (pipe2(pipes, O_CLOEXEC))
		abort();
	child = fork();
	if (child == 0) {
		if (read(pipes[0], &byte, 1) == 1)
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	c.pid = child;
	c.type = event_source("uprobe");
	c.flags = 0;
	c.rate = 1;
	c.config1 = (uintptr_t)slow_page(&fault.fd);
	expect("a probe: SETUP", request(fd, PCCE_KMOD_IOC_SETUP, &c), 0);
	if (pthread_create(&starter, NULL, start_session, &fd))
		abort();
	expect("... START reads the path", poll(&fault, 1, 60000), 1);
	if (write(pipes[1], "", 1) != 1)
		abort();
	w = watch_new(100);
	while (waitpid(child, &status, WNOHANG) == 0 && watch_ms(&w) < 10000)
		usleep(10000);
	expect("... meanwhile the process can do an exec", status, 0);
	fill.range.start = c.config1;
	fill.range.len = 4096;
	ioctl(fault.fd, UFFDIO_ZEROPAGE, &fill);
	pthread_join(starter, NULL);
	if (status == -1)
		waitpid(child, NULL, 0);
	munmap((void *)(uintptr_t)c.config1, 4096);
	close(fault.fd);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

/* ---- interrupts that come late -------------------------------------------------------------- */

struct places {
	unsigned int samples, in_kernel, with_address;
};

static int look(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	struct places *p = ctx;

	(void)kernel;
	(void)size;
	p->samples++;
	p->in_kernel += !!(s->flags & PCCE_SAMPLE_KERNEL);
	p->with_address += s->kip != 0;
	return 0;
}

static struct places late_samples(uint32_t flags)
{
	struct pcce_kmod_setup c = usual_setup();
	struct places p = {0};
	struct kmod_session *k;
	struct error why;
	int i;
	long err = kmod_session_open(&k, &why);

	c.type = event_source("skid");
	c.config = 0;
	c.flags = flags;
	c.rate = 1;
	if (!err)
		err = kmod_session_setup(k, &c);
	if (!err)
		err = kmod_session_start(k);
	for (i = 0; i < 50; i++)
		usleep(1000);
	if (!err)
		err = kmod_session_read(k, look, &p);
	expect("late interrupts are sampled", err, 0);
	kmod_session_close(k);
	return p;
}

static void late_interrupts(void)
{
	struct places all = late_samples(0), user = late_samples(PCCE_KMOD_EXCLUDE_KERNEL);

	result(all.samples > 20 && all.in_kernel == all.samples && all.with_address == all.samples,
	       "interrupts in the kernel have its address (%u of %u)", all.with_address,
	       all.samples);
	result(user.samples > 20 && user.in_kernel == user.samples && !user.with_address,
	       "... not if the event excludes the kernel (%u of %u)", user.with_address,
	       user.samples);
}

/* ---- perf's limit --------------------------------------------------------------------- */

static void highest_rate(void)
{
	struct pcce_kmod_setup c = usual_setup();
	struct pcce_kmod_stats stats;
	struct timespec a, b;
	uint64_t ms;
	int fd = device();

	write_to(MAX_RATE, "1000");
	c.rate = 20000;
	c.ring_bytes = 8 << 20;
	expect("20,000 Hz: SETUP", request(fd, PCCE_KMOD_IOC_SETUP, &c), 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	expect("20,000 Hz: START", request(fd, PCCE_KMOD_IOC_START, NULL), 0);
	burn_ms(1000);
	request(fd, PCCE_KMOD_IOC_STOP, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	request(fd, PCCE_KMOD_IOC_STATS, &stats);
	ms = (uint64_t)((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000);
	/* A tick has room for four, and for the one that is too much. */
	result(stats.samples && stats.samples <= ms * 5 / 4 + 50 && stats.throttled,
	       "perf_event_max_sample_rate holds: 1000 Hz (%llu samples in %llu ms, throttled %llu "
	       "times)",
	       (unsigned long long)stats.samples, (unsigned long long)ms,
	       (unsigned long long)stats.throttled);
	write_to(MAX_RATE, "100000");
	close(fd);
}

int main(void)
{
	failed_start();
	slow_creation();
	late_interrupts();
	highest_rate();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * everywhere
 *
 * Samples at each event that this kernel has, so wherever a handler can run: with the locks of the
 * scheduler, of memory management, of timers, of a file system held; in interrupts; in the middle
 * of a fork or an exit.  Lockdep and similar checks say whether the handler did anything forbidden
 * there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "sampler/kmod_session.h"

#define EVENTS "/sys/kernel/tracing/events/"

/* The page is as in an instrumented thread, but has nothing to decode. */
static __thread struct {
	unsigned char before[4096];
	struct pcce_page page;
} mine __attribute__((aligned(4096), tls_model("initial-exec")));

static void on_signal(int number)
{
	(void)number;
}

static void *short_thread(void *arg)
{
	sched_yield();
	return arg;
}

/* Does a little of everything that makes events. */
static void work(void)
{
	struct timespec moment = {0, 100000};
	char *memory, byte = 0;
	pthread_t t;
	pid_t child;
	int pair[2], fd;

	memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, 65536);
	madvise(memory, 65536, MADV_DONTNEED);
	munmap(memory, 65536);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || write(pair[0], &byte, 1) != 1 ||
	    read(pair[1], &byte, 1) != 1)
		abort();
	close(pair[0]);
	close(pair[1]);
	fd = open("/tmp/everywhere", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, &mine, 4096) != 4096)
		abort();
	close(fd);
	kill(getpid(), SIGUSR1);
	nanosleep(&moment, NULL);
	if (!pthread_create(&t, NULL, short_thread, NULL))
		pthread_join(t, NULL);
	child = fork();
	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

static unsigned int events, happened, refused;
static unsigned long malformed, samples;

static int judge(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	(void)kernel;
	(void)ctx;
	samples++;
	malformed += size < sizeof(*s) || s->n_entries > PCCE_SEGMENT_ENTRIES || !s->time;
	return 0;
}

static void sample_at(const char *name, uint32_t type, uint64_t config, uint64_t rate)
{
	int64_t offset = (int64_t)((char *)&mine.page - (char *)__builtin_thread_pointer());
	struct pcce_kmod_setup c = usual_setup();
	struct pcce_kmod_stats stats = {0};
	struct kmod_session *k;
	struct error why;
	long err;

	c.scope = events % 4 ? PCCE_KMOD_SYSTEM : PCCE_KMOD_PROCESS;
	c.flags = 0;
	c.type = type;
	c.config = config;
	c.rate = rate;
	err = kmod_session_open(&k, &why);
	if (!err)
		err = kmod_session_setup(k, &c);
	if (!err)
		err = kmod_session_places(k, &offset, 1);
	if (!err)
		err = kmod_session_start(k);
	if (!err)
		work();
	if (!err)
		err = kmod_session_stop(k);
	if (!err)
		err = kmod_session_read(k, judge, NULL);
	if (!err)
		err = kmod_session_stats(k, &stats);
	events++;
	happened += stats.samples > 0;
	refused += err != 0;
	if (err)
		printf("# %s: %s\n", name, strerror((int)-err));
	fflush(stdout);
	kmod_session_close(k);
}

/* Events that the handling of an event raises itself.  At every occurrence, nothing else would
 * happen.
 */
static uint64_t rate_of(const char *name)
{
	static const char *const busy[] = {"lock/",  "preemptirq/", "irq_vectors/", "rcu/",
					   "timer/", "kmem/",	    "tlb/"};

	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++)
		if (!strncmp(name, busy[i], strlen(busy[i])))
			return 97;
	return 1;
}

int main(void)
{
	static const uint32_t software[] = {
		PERF_COUNT_SW_PAGE_FAULTS,	PERF_COUNT_SW_CONTEXT_SWITCHES,
		PERF_COUNT_SW_CPU_MIGRATIONS,	PERF_COUNT_SW_PAGE_FAULTS_MIN,
		PERF_COUNT_SW_PAGE_FAULTS_MAJ,	PERF_COUNT_SW_ALIGNMENT_FAULTS,
		PERF_COUNT_SW_EMULATION_FAULTS, PERF_COUNT_SW_CGROUP_SWITCHES};
	glob_t found;
	size_t i;

	signal(SIGUSR1, on_signal);
	mine.page.magic = PCCE_PAGE_MAGIC;
	mine.page.version = PCCE_PAGE_VERSION;
	mine.page.size = PCCE_PAGE_SIZE;
	mine.page.off = PCCE_OFF_FULL;
	for (i = 0; i < sizeof(software) / sizeof(software[0]); i++)
		sample_at("software", PERF_TYPE_SOFTWARE, software[i], 1);
	sample_at("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 500000);
	sample_at("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 500000);
	if (glob(EVENTS "*/*/id", 0, NULL, &found)) {
		result(false, "the kernel has tracepoints");
		return 1;
	}
	for (i = 0; i < found.gl_pathc; i++) {
		char *name = found.gl_pathv[i] + strlen(EVENTS);

		*strrchr(name, '/') = '\0';
		/* Those of ftrace are its own; those of system calls are all in the same place. */
		if (strncmp(name, "ftrace/", 7) &&
		    (strncmp(name, "syscalls/", 9) || strstr(name, "_clone") ||
		     strstr(name, "_exec")))
			sample_at(name, PERF_TYPE_TRACEPOINT, tracepoint(name), rate_of(name));
	}
	globfree(&found);
	result(events > 100 && happened > 50 && !malformed && refused * 10 < events,
	       "sampled at %u events, of which %u occurred and %u were refused: %lu records, %lu "
	       "malformed",
	       events, happened, refused, samples, malformed);
	return 0;
}

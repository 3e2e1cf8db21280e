/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * faults
 *
 * Refuses each allocation of memory that a request makes, one at a time.
 *
 * /proc/thread-self/fail-nth makes the N-th allocation of this thread fail.  A request is repeated
 * with N = 1, 2, ... until it makes fewer allocations.  Each time it must succeed or report that
 * there is no memory.  Then it must succeed, undisturbed, on the same session.  kmemleak, KASAN and
 * lockdep say what it has left behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define N_MAX 5000

struct state {
	struct pcce_kmod_setup config;
	int fd;
	char *map;
};

static int fail_nth;
static unsigned int refusals;
static pid_t other; /* a process to be attached to */

static void arm(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(fail_nth, text, (size_t)length, 0) != length) {
		result(false, "the kernel lets allocations fail: %s", strerror(errno));
		exit(1);
	}
}

/* Returns how many more allocations were needed; 0: the intended one has failed. */
static unsigned int disarm(void)
{
	char text[16] = "";
	unsigned int left;

	if (pread(fail_nth, text, sizeof(text) - 1, 0) <= 0)
		abort();
	left = (unsigned int)atoi(text);
	arm(0);
	return left;
}

/* ---- the requests ---------------------------------------------------------------- */

static long do_open(struct state *s)
{
	s->fd = open(PCCE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

static long do_setup(struct state *s)
{
	struct pcce_kmod_setup c = s->config;
	long err = request(s->fd, PCCE_KMOD_IOC_SETUP, &c);

	if (!err)
		s->config = c;
	return err;
}

static long do_places(struct state *s)
{
	struct pcce_kmod_places p = {.n = 2, .offsets = {-4096, -8192}};

	return request(s->fd, PCCE_KMOD_IOC_PLACES, &p);
}

static long do_start(struct state *s)
{
	return request(s->fd, PCCE_KMOD_IOC_START, NULL);
}

static long do_stop(struct state *s)
{
	return request(s->fd, PCCE_KMOD_IOC_STOP, NULL);
}

static long do_attach(struct state *s)
{
	struct pcce_kmod_attach a = {.pid = other};

	return request(s->fd, PCCE_KMOD_IOC_ATTACH, &a);
}

static long do_attach_again(struct state *s)
{
	struct pcce_kmod_attach a = {.pid = getpid(), .flags = PCCE_KMOD_ATTACH_AGAIN};

	return request(s->fd, PCCE_KMOD_IOC_ATTACH, &a);
}

static long do_stats(struct state *s)
{
	struct pcce_kmod_stats st;

	return request(s->fd, PCCE_KMOD_IOC_STATS, &st);
}

static size_t map_bytes(const struct state *s)
{
	return s->config.writer_offset + s->config.writer_bytes - s->config.reader_offset;
}

static long do_mmap(struct state *s)
{
	char *p = mmap(NULL, map_bytes(s), PROT_READ, MAP_SHARED, s->fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	s->map = p;
	return 0;
}

/* The page does not exist yet.  For a bad address this call has only one error. */
static long do_touch(struct state *s)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {s->map, 1};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ? 0
	       : errno == EFAULT				       ? -ENOMEM
								       : -errno;
}

/* The child inherits the events. */
static long do_fork(struct state *s)
{
	pid_t child = (pid_t)syscall(SYS_fork);

	(void)s;
	if (child == 0)
		_exit(0);
	return child < 0 ? -errno : waitpid(child, NULL, 0) == child ? 0 : -errno;
}

static long do_close(struct state *s)
{
	long err = close(s->fd) ? -errno : 0;

	s->fd = -1;
	return err;
}

/* The states that a session may have before the request. */
enum stage { NOTHING, OPENED, SET_UP, MAPPED, STARTED };

static const struct op {
	const char *name;
	enum stage stage;
	long (*act)(struct state *s);
	uint32_t scope, flags, config;
} ops[] = {
	{"open", NOTHING, do_open, 0, 0, 0},
	{"SETUP", OPENED, do_setup, PCCE_KMOD_PROCESS, 0, 0},
	{"SETUP, COPY_STACKS", OPENED, do_setup, PCCE_KMOD_SYSTEM, PCCE_KMOD_COPY_STACKS, 0},
	{"PLACES", SET_UP, do_places, PCCE_KMOD_PROCESS, 0, 0},
	{"mmap", SET_UP, do_mmap, PCCE_KMOD_PROCESS, 0, 0},
	{"a page of the mapping", MAPPED, do_touch, PCCE_KMOD_PROCESS, 0, 0},
	{"START, TASK", SET_UP, do_start, PCCE_KMOD_TASK, 0, 0},
	{"START, PROCESS", SET_UP, do_start, PCCE_KMOD_PROCESS, 0, 0},
	{"START, PROCESS, ON_EXEC", SET_UP, do_start, PCCE_KMOD_PROCESS, PCCE_KMOD_ON_EXEC, 0},
	{"START, CPU", SET_UP, do_start, PCCE_KMOD_CPU, 0, 0},
	{"START, SYSTEM", SET_UP, do_start, PCCE_KMOD_SYSTEM, 0, 0},
	{"START, page faults", SET_UP, do_start, PCCE_KMOD_PROCESS, 0, PERF_COUNT_SW_PAGE_FAULTS},
	{"START, page faults, SYSTEM", SET_UP, do_start, PCCE_KMOD_SYSTEM, 0,
	 PERF_COUNT_SW_PAGE_FAULTS},
	{"ATTACH", STARTED, do_attach, PCCE_KMOD_PROCESS, 0, 0},
	{"ATTACH, AGAIN", STARTED, do_attach_again, PCCE_KMOD_PROCESS, 0, 0},
	{"fork", STARTED, do_fork, PCCE_KMOD_PROCESS, 0, 0},
	{"STATS", STARTED, do_stats, PCCE_KMOD_PROCESS, 0, 0},
	{"STOP", STARTED, do_stop, PCCE_KMOD_PROCESS, 0, 0},
	{"close", STARTED, do_close, PCCE_KMOD_PROCESS, 0, 0},
};

static void must(const struct op *op, const char *what, long err)
{
	if (!err)
		return;
	result(false, "%s: %s: %s", op->name, what, strerror((int)-err));
	exit(1);
}

static struct state prepare(const struct op *op)
{
	struct state s = {.config = usual_setup(), .fd = -1};

	s.config.scope = op->scope;
	s.config.flags |= op->flags;
	s.config.config = op->config;
	if (op->config)
		s.config.flags &= ~PCCE_KMOD_FREQUENCY;
	if (op->scope == PCCE_KMOD_CPU)
		s.config.cpu = 1;
	if (op->stage >= OPENED)
		must(op, "open", do_open(&s));
	if (op->stage >= SET_UP)
		must(op, "SETUP", do_setup(&s));
	if (op->stage >= MAPPED)
		must(op, "mmap", do_mmap(&s));
	if (op->stage >= STARTED)
		must(op, "START", do_start(&s));
	return s;
}

static void forget(struct state *s)
{
	if (s->map)
		munmap(s->map, map_bytes(s));
	if (s->fd >= 0)
		close(s->fd);
}

static void refuse_each(const struct op *op)
{
	unsigned int n, left = 0, refused = 0;

	for (n = 1; n < N_MAX && !left; n++) {
		struct state s = prepare(op);
		long err;

		arm(n);
		err = op->act(&s);
		left = disarm();
		refused += err == -ENOMEM;
		if (err && (left || err != -ENOMEM)) {
			result(false, "%s: without memory (%u): %s", op->name, n,
			       strerror((int)-err));
			exit(1);
		}
		if (err)
			must(op, "again", op->act(&s));
		forget(&s);
	}
	refusals += refused;
	result(left, "%s: %u allocations, each refused: no memory %u times, then as usual",
	       op->name, n - 2, refused);
}

static void *a_thread(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_t t;

	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0) {
		result(false, "the kernel has fault injection");
		return 1;
	}
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		a_thread(NULL);
	}
	if (pthread_create(&t, NULL, a_thread, NULL))
		return 1;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		refuse_each(&ops[i]);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	result(refusals > 20, "%u requests were told that there is no memory", refusals);
	return 0;
}

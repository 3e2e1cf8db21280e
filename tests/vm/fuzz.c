/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz SECONDS [SEED [faults]]
 *
 * Makes any system call on /dev/pcce with any arguments, from four threads at once that share
 * descriptors and mappings.  The test only requires that it ends.  The kernel's log says whether
 * the kernel complained.  A session that is set up afterwards must work as usual.
 *
 * Arguments are of three kinds, mixed: correct, correct except for one field, and anything.  Random
 * bytes alone would never pass the first check.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "sampler/kmod_session.h"

#define THREADS 4
#define FILES 6
#define MAPS 12

enum call {
	OPEN,
	CLOSE,
	SETUP,
	SETUP_ODD,
	PLACES,
	START,
	STOP,
	ATTACH,
	STATS,
	INFO,
	ANY_REQUEST,
	MMAP,
	MUNMAP,
	TOUCH,
	MPROTECT,
	MADVISE,
	MREMAP,
	MOVE_TAIL,
	POLL,
	READ_WRITE,
	FORK,
	THREAD,
	PASS_ON,
	CALLS
};

static const char *const names[CALLS] = {
	"open",	  "close", "SETUP",	  "SETUP, odd", "PLACES", "START",  "STOP",	"ATTACH",
	"STATS",  "INFO",  "any request", "mmap",	"munmap", "touch",  "mprotect", "madvise",
	"mremap", "tail",  "poll",	  "read",	"fork",	  "thread", "dup"};

/* Races on these are intended: one thread closes what another one uses. */
static int files[FILES];
static struct {
	char *volatile at;
	volatile size_t bytes;
} maps[MAPS];

/*
 * Shared with the first process, because a round can end badly.  One thread may unmap what another
 * one has just mapped, or make the kernel drop its contents, for instance a stack of the process.
 */
static struct counts {
	unsigned long tried[THREADS][CALLS], good[THREADS][CALLS], rounds;
} * counts;
static volatile bool enough;
#define OFTEN 500     /* one in OFTEN calls of a kind gets everything that it needs */
static bool faults;   /* the kernel refuses memory now and then: if so, to these threads */
static char *garbage; /* a page of anything, then one that is not there */

struct state {
	uint64_t random;
	int number;
};

static uint64_t word(struct state *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	return s->random ^= s->random << 17;
}

static uint64_t below(struct state *s, uint64_t n)
{
	return (word(s) >> 11) % n;
}

static uint64_t edge(struct state *s)
{
	static const uint64_t edges[] = {0,
					 1,
					 2,
					 4,
					 4095,
					 4096,
					 4097,
					 65535,
					 65536,
					 1 << 20,
					 1 << 24,
					 1 << 25,
					 0x7fffffff,
					 0x80000000,
					 0xffffffff,
					 1ULL << 32,
					 1ULL << 47,
					 1ULL << 62,
					 1ULL << 63,
					 ~0ULL,
					 ~0ULL - 1,
					 ~4095ULL,
					 0x7fffffffffffffff,
					 128};

	switch (below(s, 3)) {
	case 0:
		return word(s);
	case 1:
		return word(s) >> below(s, 64);
	default:
		return edges[below(s, sizeof(edges) / sizeof(edges[0]))];
	}
}

static int file(struct state *s)
{
	return __atomic_load_n(&files[below(s, FILES)], __ATOMIC_RELAXED);
}

/* Only one thread at a time has each number.  Otherwise a thread would soon close a number that
 * others were given again. */
static int exchange(struct state *s, int fd)
{
	int before = __atomic_exchange_n(&files[below(s, FILES)], fd, __ATOMIC_RELAXED);

	return before < 0 ? before : close(before);
}

/* Chooses an address for a struct. */
static void *pointer(struct state *s, void *right, size_t size)
{
	size_t map = below(s, MAPS);

	switch (below(s, 24)) {
	case 0:
		return NULL;
	case 1: /* ends where nothing is */
		return garbage + 4096 - below(s, size + 1);
	case 2:
		return (void *)(uintptr_t)edge(s);
	case 3:
		return (void *)0xffff888000000000UL;
	case 4: /* the rings themselves */
		return maps[map].at ? maps[map].at : right;
	default:
		return right;
	}
}

static unsigned long sized(struct state *s, unsigned long request)
{
	if (below(s, 12))
		return request;
	return (request & ~((unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT)) |
	       (below(s, 2) ? below(s, 4200) : edge(s) & _IOC_SIZEMASK) << _IOC_SIZESHIFT;
}

static long send(struct state *s, unsigned long number, void *argument, size_t size)
{
	return ioctl(file(s), sized(s, number), pointer(s, argument, size));
}

static int pid(struct state *s)
{
	switch (below(s, 8)) {
	case 0:
		return 1;
	case 1:
		return (int)below(s, 400);
	case 2:
		return (int)edge(s);
	case 3:
		return (int)syscall(SYS_gettid);
	case 4:
		return getpid();
	default:
		return 0;
	}
}

static struct pcce_kmod_setup sensible(struct state *s)
{
	struct pcce_kmod_setup c = usual_setup();

	c.scope = 1 + (uint32_t)below(s, 4);
	c.flags = (uint32_t)below(s, PCCE_KMOD_FLAGS + 1);
	/* Some combinations are refused. */
	if (c.flags & PCCE_KMOD_COPY_ALL && below(s, 8))
		c.flags |= PCCE_KMOD_COPY_STACKS;
	if (below(s, 8))
		c.flags &= PCCE_KMOD_FLAGS;
	if (c.scope == PCCE_KMOD_CPU)
		c.cpu = (int)below(s, 2);
	if (c.scope <= PCCE_KMOD_PROCESS)
		c.pid = pid(s);
	else
		c.flags &= ~PCCE_KMOD_ON_EXEC;
	/* The emulator has no hardware events, and switching tracepoints takes long. */
	c.type = below(s, 12) ? PERF_TYPE_SOFTWARE : (uint32_t)below(s, 5);
	if (c.type == PERF_TYPE_SOFTWARE)
		c.config = below(s, 12);
	else if (c.type == PERF_TYPE_TRACEPOINT)
		c.config = below(s, 1500);
	c.rate = c.flags & PCCE_KMOD_FREQUENCY ? 1 + below(s, below(s, 32) ? 300 : 50000)
					       : 1 + below(s, 1000);
	if (c.type == PERF_TYPE_SOFTWARE && c.config <= PERF_COUNT_SW_TASK_CLOCK &&
	    !(c.flags & PCCE_KMOD_FREQUENCY))
		c.rate = 3000000 + below(s, 100000000);
	/* With a tracepoint inside the handling of an event, nothing else would happen. */
	if (c.type == PERF_TYPE_TRACEPOINT)
		c.rate += 20;
	c.ring_bytes = PCCE_KMOD_RING_MIN << below(s, 5);
	c.watermark = (uint32_t)below(s, c.ring_bytes);
	return c;
}

static long setup(struct state *s, bool odd)
{
	struct pcce_kmod_setup c = sensible(s);
	uint64_t *words = (uint64_t *)&c;
	size_t n = 1 + below(s, 3);

	if (!odd)
		return ioctl(file(s), PCCE_KMOD_IOC_SETUP, &c);
	while (n--)
		switch (below(s, 3)) {
		case 0:
			words[below(s, sizeof(c) / 8)] = edge(s);
			break;
		case 1:
			((uint32_t *)&c)[below(s, sizeof(c) / 4)] = (uint32_t)edge(s);
			break;
		default:
			words[below(s, sizeof(c) / 8)] ^= 1ULL << below(s, 64);
			break;
		}
	return send(s, PCCE_KMOD_IOC_SETUP, &c, sizeof(c));
}

static long places(struct state *s)
{
	struct pcce_kmod_places p = {.n = (uint32_t)below(s, PCCE_KMOD_OFFSETS + 2)};

	for (size_t i = 0; i < p.n && i < PCCE_KMOD_OFFSETS; i++)
		p.offsets[i] = (int64_t)(edge(s) & ~4095ULL);
	if (!below(s, 8))
		p.reserved = (uint32_t)edge(s);
	if (!below(s, 8))
		p.offsets[below(s, PCCE_KMOD_OFFSETS)] = (int64_t)edge(s);
	return send(s, PCCE_KMOD_IOC_PLACES, &p, sizeof(p));
}

static long any_request(struct state *s)
{
	unsigned long number =
		below(s, 4) ? _IOC(below(s, 4), PCCE_KMOD_IOC, below(s, 10), below(s, 300))
			    : edge(s);

	return ioctl(file(s), number, pointer(s, garbage, 300));
}

static void keep(struct state *s, char *at, size_t bytes)
{
	size_t i = below(s, MAPS);

	if (at == MAP_FAILED)
		return;
	if (maps[i].at)
		munmap(maps[i].at, maps[i].bytes);
	maps[i].bytes = bytes;
	maps[i].at = at;
}

static long map(struct state *s)
{
	static const int protections[] = {PROT_READ, PROT_READ | PROT_WRITE, PROT_WRITE, PROT_NONE,
					  PROT_READ | PROT_EXEC};
	size_t bytes = (1 + below(s, below(s, 2) ? 4 : 200)) * 4096;
	off_t offset = (off_t)(below(s, 4) ? below(s, 64) * 4096 : edge(s) & ~4095ULL);
	char *p = mmap(NULL, bytes, protections[below(s, 5)],
		       below(s, 8) ? MAP_SHARED : MAP_PRIVATE, file(s), offset);

	keep(s, p, bytes);
	return p == MAP_FAILED ? -1 : 0;
}

/* process_vm_readv() of the own process reports a bad address as an error, not by a signal. */
static long touch(struct state *s)
{
	size_t i = below(s, MAPS);
	char byte = (char)word(s);
	struct iovec here = {&byte, 1}, there = {maps[i].at + below(s, maps[i].bytes + 1), 1};

	if (!maps[i].at)
		return -1;
	return below(s, 2) ? process_vm_readv(getpid(), &here, 1, &there, 1, 0)
			   : process_vm_writev(getpid(), &here, 1, &there, 1, 0);
}

static long on_map(struct state *s, enum call call)
{
	static const int advices[] = {
		MADV_NORMAL,	MADV_DONTNEED,	    MADV_REMOVE,	MADV_FREE,     MADV_DOFORK,
		MADV_MERGEABLE, MADV_HUGEPAGE,	    MADV_DODUMP,	MADV_WILLNEED, MADV_COLD,
		MADV_PAGEOUT,	MADV_POPULATE_READ, MADV_POPULATE_WRITE};
	size_t i = below(s, MAPS), bytes = maps[i].bytes;
	char *at = maps[i].at, *p;
	size_t from = bytes ? below(s, bytes / 4096) * 4096 : 0, length = below(s, bytes + 8192);

	if (!at)
		return -1;
	switch (call) {
	case MUNMAP:
		if (below(s, 2)) {
			maps[i].at = NULL;
			return munmap(at, bytes);
		}
		return munmap(at + from, 4096);
	case MPROTECT:
		return mprotect(at + from, length, (int)below(s, 8));
	case MADVISE:
		return madvise(at + from, length,
			       advices[below(s, sizeof(advices) / sizeof(advices[0]))]);
	default:
		p = mremap(at, bytes, below(s, 2) ? length : bytes,
			   MREMAP_MAYMOVE | (below(s, 6) ? 0 : MREMAP_DONTUNMAP));
		if (p == MAP_FAILED)
			return -1;
		maps[i].at = p;
		return 0;
	}
}

/* Writes tails as a reader would, and as none would; and classes and refusals, which are behind. */
static long move_tail(struct state *s)
{
	size_t i = below(s, MAPS), k, at = below(s, 2) ? 0 : below(s, maps[i].bytes + 1);
	uint64_t tails[16];
	struct iovec here = {tails, sizeof(tails)}, there = {maps[i].at + at, sizeof(tails)};

	if (!maps[i].at)
		return -1;
	for (k = 0; k < 16; k++)
		tails[k] = edge(s);
	return process_vm_writev(getpid(), &here, 1, &there, 1, 0);
}

static long poll_it(struct state *s)
{
	struct pollfd p[2] = {{.fd = file(s), .events = (short)word(s)},
			      {.fd = file(s), .events = POLLIN}};
	struct epoll_event e = {.events = EPOLLIN | (below(s, 2) ? EPOLLET : 0)};
	int ep;
	long r;

	if (below(s, 2))
		return poll(p, 1 + below(s, 2), (int)below(s, 3));
	ep = epoll_create1(EPOLL_CLOEXEC);
	r = epoll_ctl(ep, EPOLL_CTL_ADD, file(s), &e);
	if (!r)
		epoll_wait(ep, &e, 1, (int)below(s, 3));
	close(ep);
	return r;
}

static long read_or_write(struct state *s)
{
	char bytes[64] = "";
	struct iovec v = {pointer(s, bytes, sizeof(bytes)), below(s, 64)};

	switch (below(s, 6)) {
	case 0:
		return read(file(s), bytes, below(s, 64));
	case 1:
		return write(file(s), bytes, below(s, 64));
	case 2:
		return preadv(file(s), &v, 1, (off_t)edge(s));
	case 3:
		return lseek(file(s), (off_t)edge(s), (int)below(s, 5));
	case 4:
		return ftruncate(file(s), (off_t)edge(s));
	default:
		return fcntl(file(s), F_SETFL, below(s, 2) ? O_NONBLOCK : O_ASYNC);
	}
}

/* Children have the descriptors, too, and end while other threads use them. */
static long new_process(struct state *s)
{
	pid_t child = fork();

	if (child < 0)
		return -1;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		switch (below(s, 4)) {
		case 0:
			execl("/bin/true", "true", NULL);
			break;
		case 1:
			burn_ms(2);
			break;
		case 2:
			ioctl(file(s), PCCE_KMOD_IOC_START, 0);
			break;
		}
		_exit(0);
	}
	if (below(s, 2))
		kill(child, SIGKILL);
	return waitpid(child, NULL, 0);
}

static void *nothing(void *arg)
{
	burn_ms(1);
	return arg;
}

static long new_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, nothing, NULL))
		return -1;
	return pthread_join(t, NULL);
}

static long attach(struct state *s)
{
	struct pcce_kmod_attach a = {
		.pid = pid(s), .flags = below(s, 4) ? (uint32_t)below(s, 2) : (uint32_t)edge(s)};

	return send(s, PCCE_KMOD_IOC_ATTACH, &a, sizeof(a));
}

/* Runs a correct session, which other threads disturb meanwhile. */
static void use(struct state *s, int fd)
{
	struct pcce_kmod_places p = {.n = 1, .offsets = {-4096}};
	struct pcce_kmod_setup c = sensible(s);
	size_t bytes;
	char *at;

	if (below(s, 2)) {
		c.scope = PCCE_KMOD_PROCESS;
		c.pid = 0;
		c.cpu = -1;
	}
	if (ioctl(fd, PCCE_KMOD_IOC_SETUP, &c))
		return;
	ioctl(fd, PCCE_KMOD_IOC_PLACES, &p);
	at = mmap(NULL, c.reader_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  (off_t)c.reader_offset);
	keep(s, at, c.reader_bytes);
	bytes = c.data_offset + c.n_rings * c.data_stride - c.writer_offset;
	at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)c.writer_offset);
	keep(s, at, bytes);
	ioctl(fd, PCCE_KMOD_IOC_START, 0);
}

static long run(struct state *s, enum call call)
{
	char answer[4096];
	int fd;

	switch (call) {
	case OPEN:
		fd = open(PCCE_KMOD_DEVICE, (below(s, 4) ? O_RDWR : (int)below(s, 3)) | O_CLOEXEC);
		if (fd < 0)
			return -1;
		if (below(s, 2))
			use(s, fd);
		exchange(s, fd);
		return 0;
	case CLOSE:
		return exchange(s, -1);
	case PASS_ON:
		fd = dup(file(s));
		if (fd >= 0)
			exchange(s, fd);
		return fd;
	case SETUP:
	case SETUP_ODD:
		return setup(s, call == SETUP_ODD);
	case PLACES:
		return places(s);
	case START:
		return ioctl(file(s), sized(s, PCCE_KMOD_IOC_START), below(s, 16) ? 0 : edge(s));
	case STOP:
		return ioctl(file(s), sized(s, PCCE_KMOD_IOC_STOP), below(s, 16) ? 0 : edge(s));
	case ATTACH:
		return attach(s);
	case STATS:
		return send(s, PCCE_KMOD_IOC_STATS, answer, sizeof(answer));
	case INFO:
		return send(s, PCCE_KMOD_IOC_INFO, answer, sizeof(answer));
	case ANY_REQUEST:
		return any_request(s);
	case MMAP:
		return map(s);
	case TOUCH:
		return touch(s);
	case MOVE_TAIL:
		return move_tail(s);
	case POLL:
		return poll_it(s);
	case READ_WRITE:
		return read_or_write(s);
	case FORK:
		return below(s, 4) ? -1 : new_process(s);
	case THREAD:
		return below(s, 2) ? -1 : new_thread();
	default:
		return on_map(s, call);
	}
}

static void let_allocations_fail(void)
{
	int fd = open("/proc/thread-self/make-it-fail", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		abort();
	close(fd);
}

static void *fuzz(void *arg)
{
	struct state *s = arg;

	if (faults)
		let_allocations_fail();
	while (!enough) {
		/* OPEN, SETUP and START together are as frequent as all others, or few sessions
		 * would run. */
		enum call call =
			below(s, 3) ? (enum call)below(s, CALLS)
				    : (enum call[]){
					      OPEN, SETUP, SETUP, START, START, MMAP}[below(s, 6)];

		counts->tried[s->number][call]++;
		counts->good[s->number][call] += run(s, call) >= 0;
	}
	return NULL;
}

/* A round is a process.  What it leaves open or mapped ends with it. */
static void round_of(unsigned int seconds, uint64_t seed)
{
	struct rlimit few = {256, 256};
	struct state states[THREADS];
	pthread_t threads[THREADS];
	int i;

	setrlimit(RLIMIT_NOFILE, &few);
	garbage = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(garbage + 4096, 4096);
	for (i = 0; i < FILES; i++)
		files[i] = device();
	for (i = 0; i < THREADS; i++) {
		states[i] = (struct state){(seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL | 1, i};
		pthread_create(&threads[i], NULL, fuzz, &states[i]);
	}
	sleep(seconds);
	enough = true;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* The signals of a process that has damaged its memory; see counts. */
static bool own_fault(int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT || sig == SIGILL || sig == SIGFPE;
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 10;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct watch watch = watch_new(10000);
	unsigned long never = 0, bad = 0;
	int i, k, status;

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	faults = argc > 3;
	do {
		pid_t child = fork();

		if (child == 0) {
			round_of(seconds < 10 ? seconds : 10, seed);
			counts->rounds++;
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) && !own_fault(status)) {
			printf("# a round ended with status %#x\n", (unsigned int)status);
			bad++;
		}
		seed += THREADS;
	} while (watch_ms(&watch) < seconds * 1000ULL);

	printf("# %lu whole rounds; calls (and those that were granted):", counts->rounds);
	for (i = 0; i < CALLS; i++) {
		unsigned long tried = 0, good = 0;

		for (k = 0; k < THREADS; k++) {
			tried += counts->tried[k][i];
			good += counts->good[k][i];
		}
		printf("%s %s %lu (%lu)", i ? "," : "", names[i], tried, good);
		never += !good && tried >= OFTEN && i != ANY_REQUEST && i != READ_WRITE;
	}
	printf("\n");
	/* Without memory a thread may die because it does not get a page. */
	result(!bad && (faults ? never < CALLS / 2 : counts->rounds && !never),
	       "any calls from %d threads for %u seconds: %lu kinds were never granted, %lu rounds "
	       "ended badly",
	       THREADS, seconds, never, bad);
	return 0;
}

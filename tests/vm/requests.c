/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tests that /dev/pcce refuses invalid requests, each with the error that its contract
 * (pcce/kmod.h) promises. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define SIZED(request, size) \
	(((request) & ~(0x3fffUL << _IOC_SIZESHIFT)) | ((unsigned long)(size) << _IOC_SIZESHIFT))

/* Returns the result of SETUP for the usual setup with one change, on a separate file. */
#define SETUP_WITH(change)                                  \
	({                                                  \
		int fd_ = device();                         \
		struct pcce_kmod_setup c = usual_setup();   \
		long r_;                                    \
		change;                                     \
		r_ = request(fd_, PCCE_KMOD_IOC_SETUP, &c); \
		close(fd_);                                 \
		r_;                                         \
	})

/* Returns the result of START after such a SETUP. */
#define START_WITH(change)                                            \
	({                                                            \
		int fd_ = device();                                   \
		struct pcce_kmod_setup c = usual_setup();             \
		long r_;                                              \
		change;                                               \
		r_ = request(fd_, PCCE_KMOD_IOC_SETUP, &c);           \
		if (!r_)                                              \
			r_ = request(fd_, PCCE_KMOD_IOC_START, NULL); \
		close(fd_);                                           \
		r_;                                                   \
	})

/* Returns the result of this SETUP and of START, on a separate file. */
#define START_AFTER(setup, argument)                                  \
	({                                                            \
		int fd_ = device();                                   \
		long r_ = request(fd_, setup, argument);              \
		if (!r_)                                              \
			r_ = request(fd_, PCCE_KMOD_IOC_START, NULL); \
		close(fd_);                                           \
		r_;                                                   \
	})

static void numbers(void)
{
	int fd = device();
	char byte;

	expect("an unknown number", request(fd, _IO(PCCE_KMOD_IOC, 200), NULL), -ENOTTY);
	expect("another type", request(fd, _IOR('$', 1, struct pcce_kmod_info), NULL), -ENOTTY);
	expect("another direction",
	       request(fd, _IOW(PCCE_KMOD_IOC, 1, struct pcce_kmod_info), NULL), -ENOTTY);
	expect("0", request(fd, 0, NULL), -ENOTTY);
	expect("~0", request(fd, 0xffffffffUL, NULL), -ENOTTY);
	expect("START with an argument", request(fd, PCCE_KMOD_IOC_START, &byte), -EINVAL);
	expect("read", read(fd, &byte, 1) < 0 ? -errno : 0, -EINVAL);
	expect("write", write(fd, "", 1) < 0 ? -errno : 0, -EINVAL);
	close(fd);
}

static void sizes(void)
{
	static union {
		struct pcce_kmod_info info;
		struct pcce_kmod_setup setup;
		struct pcce_kmod_stats stats;
		struct pcce_kmod_places places;
		struct pcce_kmod_attach attach;
		char bytes[8192];
	} u;
	int fd = device();
	size_t i, dirty = 0;

	expect("INFO", request(fd, PCCE_KMOD_IOC_INFO, &u), 0);
	result(u.info.version == PCCE_KMOD_VERSION &&
		       u.info.sample_size == sizeof(struct pcce_sample) && u.info.privileged == 1 &&
		       u.info.flags == PCCE_KMOD_FLAGS && u.info.n_cpus >= 2,
	       "INFO tells the truth");
	expect("INFO, too small",
	       request(fd, SIZED(PCCE_KMOD_IOC_INFO, PCCE_KMOD_INFO_VER0 - 1), &u), -EINVAL);
	expect("INFO, size 0", request(fd, SIZED(PCCE_KMOD_IOC_INFO, 0), &u), -EINVAL);
	memset(&u, 0xff, sizeof(u));
	expect("INFO for a later version", request(fd, SIZED(PCCE_KMOD_IOC_INFO, 200), &u), 0);
	for (i = sizeof(u.info); i < 200; i++)
		dirty += u.bytes[i] != 0;
	result(!dirty && u.bytes[200] == (char)0xff,
	       "... is 0 where it knows nothing, and no byte more");
	expect("INFO, larger than a page", request(fd, SIZED(PCCE_KMOD_IOC_INFO, 4097), &u),
	       -E2BIG);
	expect("INFO to nowhere", request(fd, PCCE_KMOD_IOC_INFO, NULL), -EFAULT);
	expect("INFO to the kernel", request(fd, PCCE_KMOD_IOC_INFO, (void *)0xffff888000000000UL),
	       -EFAULT);
	expect("STATS, too small", request(fd, SIZED(PCCE_KMOD_IOC_STATS, 95), &u), -EINVAL);
	expect("STATS before SETUP", request(fd, PCCE_KMOD_IOC_STATS, &u), 0);
	expect("SETUP from nowhere", request(fd, PCCE_KMOD_IOC_SETUP, NULL), -EFAULT);
	expect("PLACES from nowhere", request(fd, PCCE_KMOD_IOC_PLACES, NULL), -EFAULT);
	u.attach = (struct pcce_kmod_attach){.pid = 1};
	expect("ATTACH before SETUP", request(fd, PCCE_KMOD_IOC_ATTACH, &u), -ENXIO);
	expect("START before SETUP", request(fd, PCCE_KMOD_IOC_START, NULL), -ENXIO);
	expect("STOP before SETUP", request(fd, PCCE_KMOD_IOC_STOP, NULL), -ENXIO);

	memset(&u, 0, sizeof(u));
	u.setup = usual_setup();
	expect("SETUP, too small",
	       request(fd, SIZED(PCCE_KMOD_IOC_SETUP, PCCE_KMOD_SETUP_VER0 - 8), &u), -EINVAL);
	u.bytes[sizeof(u.setup) + 8] = 1;
	expect("SETUP of a later version that asks for more",
	       request(fd, SIZED(PCCE_KMOD_IOC_SETUP, 200), &u), -E2BIG);
	u.bytes[sizeof(u.setup) + 8] = 0;
	expect("SETUP, an earlier version",
	       START_AFTER(SIZED(PCCE_KMOD_IOC_SETUP, PCCE_KMOD_SETUP_VER0), &u), 0);
	expect("SETUP, larger than a page", request(fd, SIZED(PCCE_KMOD_IOC_SETUP, 8000), &u),
	       -E2BIG);
	u.setup = usual_setup();
	expect("SETUP of a later version", request(fd, SIZED(PCCE_KMOD_IOC_SETUP, 200), &u), 0);
	u.setup = usual_setup();
	expect("SETUP again", request(fd, PCCE_KMOD_IOC_SETUP, &u), -EBUSY);
	expect("STOP before START", request(fd, PCCE_KMOD_IOC_STOP, NULL), 0);
	expect("START", request(fd, PCCE_KMOD_IOC_START, NULL), 0);
	expect("START again", request(fd, PCCE_KMOD_IOC_START, NULL), -EBUSY);
	u.attach = (struct pcce_kmod_attach){.pid = 1};
	expect("ATTACH", request(fd, PCCE_KMOD_IOC_ATTACH, &u), 0);
	expect("ATTACH again", request(fd, PCCE_KMOD_IOC_ATTACH, &u), 0);
	u.attach.flags = PCCE_KMOD_ATTACH_AGAIN;
	expect("ATTACH with AGAIN", request(fd, PCCE_KMOD_IOC_ATTACH, &u), 0);
	u.attach.flags = 2;
	expect("ATTACH, unknown flags", request(fd, PCCE_KMOD_IOC_ATTACH, &u), -EINVAL);
	u.attach = (struct pcce_kmod_attach){.pid = 0};
	expect("ATTACH to pid 0", request(fd, PCCE_KMOD_IOC_ATTACH, &u), -EINVAL);
	u.attach = (struct pcce_kmod_attach){.pid = 0x7fffffff};
	expect("ATTACH to nobody", request(fd, PCCE_KMOD_IOC_ATTACH, &u), -ESRCH);
	u.attach = (struct pcce_kmod_attach){.pid = 2};
	expect("ATTACH to a kernel thread", request(fd, PCCE_KMOD_IOC_ATTACH, &u), -EINVAL);
	expect("STOP", request(fd, PCCE_KMOD_IOC_STOP, NULL), 0);
	expect("START after STOP", request(fd, PCCE_KMOD_IOC_START, NULL), 0);

	memset(&u, 0, sizeof(u));
	expect("PLACES, none", request(fd, PCCE_KMOD_IOC_PLACES, &u), 0);
	u.places.n = PCCE_KMOD_OFFSETS + 1;
	expect("PLACES, too many", request(fd, PCCE_KMOD_IOC_PLACES, &u), -EINVAL);
	u.places.n = 1;
	u.places.offsets[0] = -8;
	expect("PLACES, not a multiple of the page", request(fd, PCCE_KMOD_IOC_PLACES, &u),
	       -EINVAL);
	u.places.offsets[0] = -4096;
	u.places.offsets[1] = -4096;
	expect("PLACES, more than n", request(fd, PCCE_KMOD_IOC_PLACES, &u), -EINVAL);
	u.places.offsets[1] = 0;
	u.places.reserved = 1;
	expect("PLACES, reserved", request(fd, PCCE_KMOD_IOC_PLACES, &u), -EINVAL);
	close(fd);
}

static void fields(void)
{
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	expect("the usual", SETUP_WITH(), 0);
	expect("no scope", SETUP_WITH(c.scope = 0), -EINVAL);
	expect("an unknown scope", SETUP_WITH(c.scope = 5), -EINVAL);
	expect("unknown flags", SETUP_WITH(c.flags |= 1u << 30), -EINVAL);
	expect("COPY_STACKS", SETUP_WITH(c.flags |= PCCE_KMOD_COPY_STACKS), 0);
	expect("COPY_ALL without COPY_STACKS", SETUP_WITH(c.flags |= PCCE_KMOD_COPY_ALL), -EINVAL);
	expect("a flag of an earlier version", SETUP_WITH(c.flags |= 128), -EINVAL);
	expect("reserved0", SETUP_WITH(c.reserved0 = 1), -EINVAL);
	expect("reserved1", SETUP_WITH(c.reserved1 = 1), -EINVAL);
	expect("what the kernel sets", SETUP_WITH(c.data_stride = 4096), -EINVAL);
	expect("pid -1", SETUP_WITH(c.pid = -1), -EINVAL);
	expect("pid of nobody", SETUP_WITH(c.pid = gone), -ESRCH);
	expect("pid and no task", SETUP_WITH(c.scope = PCCE_KMOD_SYSTEM; c.pid = 1), -EINVAL);
	expect("cpu and a process", SETUP_WITH(c.cpu = 0), -EINVAL);
	expect("cpu -1", SETUP_WITH(c.scope = PCCE_KMOD_CPU), -EINVAL);
	expect("a cpu that there is not", SETUP_WITH(c.scope = PCCE_KMOD_CPU; c.cpu = 100000),
	       -EINVAL);
	expect("exec and no task",
	       SETUP_WITH(c.scope = PCCE_KMOD_SYSTEM; c.flags |= PCCE_KMOD_ON_EXEC), -EINVAL);
	expect("a ring that is no power of two", SETUP_WITH(c.ring_bytes = 100000), -EINVAL);
	expect("a ring too small", SETUP_WITH(c.ring_bytes = 32768), -EINVAL);
	expect("a ring too large", SETUP_WITH(c.ring_bytes = 32 << 20), -EINVAL);
	expect("a watermark above the ring", SETUP_WITH(c.watermark = PCCE_KMOD_RING_MIN + 1),
	       -EINVAL);
	expect("rate 0", SETUP_WITH(c.rate = 0), -EINVAL);
	expect("a frequency too high", SETUP_WITH(c.rate = 100001), -EINVAL);
	expect("the highest frequency", SETUP_WITH(c.rate = 100000), 0);
	expect("a period beyond all numbers", SETUP_WITH(c.flags = 0; c.rate = 1ULL << 63),
	       -EINVAL);
	expect("a breakpoint", SETUP_WITH(c.type = PERF_TYPE_BREAKPOINT), -EOPNOTSUPP);
	expect("an event that never occurs", SETUP_WITH(c.config = PERF_COUNT_SW_DUMMY), -EINVAL);
	expect("an event that there is not", START_WITH(c.config = 1000), -ENOENT);
	expect("a type that there is not", START_WITH(c.type = 1000), -ENOENT);
	expect("a tracepoint that there is not",
	       START_WITH(c.type = PERF_TYPE_TRACEPOINT; c.config = 1 << 30), -EINVAL);
	expect("a kernel thread", START_WITH(c.pid = 2), -EINVAL);
	expect("another process", START_WITH(c.pid = 1), 0);
}

static long map(int fd, size_t bytes, int protection, int flags, uint64_t offset)
{
	void *p = mmap(NULL, bytes, protection, flags, fd, (off_t)offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, bytes);
	return 0;
}

static void mappings(void)
{
	struct pcce_kmod_setup c = usual_setup();
	int fd = device(), status;
	size_t all;
	char *p;
	pid_t child;

	expect("mmap before SETUP", map(fd, 4096, PROT_READ, MAP_SHARED, 0), -ENXIO);
	request(fd, PCCE_KMOD_IOC_SETUP, &c);
	all = c.data_offset + c.n_rings * c.data_stride;
	expect("mmap of all, for reading", map(fd, all, PROT_READ, MAP_SHARED, 0), 0);
	expect("mmap of the readers, for writing",
	       map(fd, c.reader_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 0), 0);
	expect("mmap of the writers, for writing",
	       map(fd, c.writer_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c.writer_offset),
	       -EPERM);
	expect("mmap of data, for writing", map(fd, 4096, PROT_WRITE, MAP_SHARED, c.data_offset),
	       -EPERM);
	expect("mmap of all, for writing", map(fd, all, PROT_READ | PROT_WRITE, MAP_SHARED, 0),
	       -EPERM);
	expect("mmap for execution", map(fd, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, 0), -EPERM);
	expect("a private mmap", map(fd, 4096, PROT_READ, MAP_PRIVATE, 0), -EINVAL);
	expect("mmap beyond the end", map(fd, all + 4096, PROT_READ, MAP_SHARED, 0), -EINVAL);
	expect("mmap behind the end", map(fd, 4096, PROT_READ, MAP_SHARED, all), -EINVAL);
	expect("mmap far behind the end", map(fd, 4096, PROT_READ, MAP_SHARED, 1ULL << 50),
	       -EINVAL);

	p = mmap(NULL, all, PROT_READ, MAP_SHARED, fd, 0);
	expect("mprotect to write", mprotect(p, all, PROT_READ | PROT_WRITE) ? -errno : 0, -EACCES);
	expect("mprotect to execute", mprotect(p, all, PROT_READ | PROT_EXEC) ? -errno : 0,
	       -EACCES);
	expect("mremap to more",
	       mremap(p, all, all + 8192, MREMAP_MAYMOVE) == MAP_FAILED ? -errno : 0, -EFAULT);
	child = fork();
	if (child == 0)
		_exit(mincore(p, 4096, (unsigned char[1]){0}) && errno == ENOMEM ? 0 : 1);
	waitpid(child, &status, 0);
	expect("a child does not inherit it", status, 0);
	close(fd);
	result(p[0] == 0 && p[all - 1] == 0, "it can be read after close");
	expect("munmap", munmap(p, all), 0);
}

int main(void)
{
	numbers();
	sizes();
	fields();
	mappings();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Creates a ring, and writes records to it; include/pcce/selfring.h describes the protocol.
 *
 * The file is allocated in full before it is mapped: a store to a page for which a full file system
 * has no room would be a SIGBUS in the program. If there is not enough room, a smaller ring is
 * tried. No descriptor stays open; a flock does not need one.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "self/self.h"
#include "base/syscall.h"

static size_t append_text(char *to, size_t at, const char *text)
{
	while (*text && at < PATH_MAX - 1)
		to[at++] = *text++;
	to[at] = 0;
	return at;
}

static size_t append_hex(char *to, size_t at, uint64_t value)
{
	for (int shift = 60; shift >= 0 && at < PATH_MAX - 1; shift -= 4)
		to[at++] = "0123456789abcdef"[value >> shift & 15];
	to[at] = 0;
	return at;
}

static void make_path(char *path, const char *directory, const char *prefix, uint64_t now,
		      uint32_t pid)
{
	size_t n = append_text(path, 0, directory);

	n = append_text(path, n, "/");
	n = append_text(path, n, prefix);
	n = append_hex(path, n, now);
	n = append_text(path, n, "-");
	append_hex(path, n, pid);
}

static int allocate_file(int fd, uint64_t size)
{
	long ret = raw_syscall4(SYS_fallocate, fd, 0, 0, size);
	char zero = 0;

	if (ret != -EOPNOTSUPP && ret != -ENOSYS)
		return (int)ret;
	for (uint64_t at = 0; at < size; at += MEMORY_PAGE) {
		ret = raw_syscall4(SYS_pwrite64, fd, &zero, 1, at);
		if (ret < 0)
			return (int)ret;
	}
	return (int)raw_syscall2(SYS_ftruncate, fd, size);
}

/* Returns at most a sixteenth of the free room, so that a thousand processes do not fill memory.
 * And at most the program's limit for files, beyond which the kernel sends SIGXFSZ. 0: there is no
 * room. rest: bytes of the file that are not data. */
static uint64_t affordable_size(int fd, uint64_t size, uint64_t rest)
{
	struct statfs fs;
	struct rlimit limit;

	if (raw_syscall2(SYS_fstatfs, fd, &fs) == 0)
		while (size > PCCE_SELF_DATA_MIN &&
		       size > (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize / 16)
			size /= 2;
	if (raw_syscall4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0)
		return size;
	while (size >= PCCE_SELF_DATA_MIN && rest + size > limit.rlim_cur)
		size /= 2;
	return size >= PCCE_SELF_DATA_MIN ? size : 0;
}

/* The second mapping of the data continues with the counters, as the file does. */
static int map_own_ring(struct ring *ring, int fd, uint64_t data_size, uint64_t counters_size)
{
	uint64_t file_size = PCCE_SELF_HEADER_SIZE + data_size, more = data_size + counters_size;
	char *base = raw_mmap(NULL, file_size + more, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *first, *second;

	if (raw_failed(base))
		return -ENOMEM;
	first = raw_mmap(base, file_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	second = raw_mmap(base + file_size, more, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  fd, PCCE_SELF_HEADER_SIZE);
	if (raw_failed(first) || raw_failed(second)) {
		raw_syscall2(SYS_munmap, base, file_size + more);
		return -ENOMEM;
	}
	ring->head = (struct pcce_self_ring *)base;
	ring->data = base + PCCE_SELF_HEADER_SIZE;
	ring->mask = data_size - 1;
	ring->counters =
		counters_size ? (struct pcce_self_counter *)(base + file_size + data_size) : NULL;
	return 0;
}

/* Gives the file its size: as much data as there is room for. Returns 0 or -errno. */
static int size_file(int fd, uint64_t *data_size, uint64_t rest)
{
	int ret = -EFBIG;

	*data_size = affordable_size(fd, *data_size, rest);
	for (; *data_size >= PCCE_SELF_DATA_MIN; *data_size /= 2) {
		ret = allocate_file(fd, rest + *data_size);
		if (ret == 0)
			break;
		raw_syscall2(SYS_ftruncate, fd, 0);
	}
	return ret;
}

/* Has the recorder ended without a message? It holds a lock as long as it lives. */
static bool is_abandoned(const char *directory)
{
	char path[PATH_MAX];
	size_t n = append_text(path, 0, directory);
	long fd, ret;

	append_text(path, append_text(path, n, "/"), PCCE_SELF_OWNER);
	fd = raw_syscall4(SYS_openat, AT_FDCWD, path,
			  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	ret = raw_syscall2(SYS_flock, fd, LOCK_SH | LOCK_NB);
	raw_syscall1(SYS_close, fd);
	return ret == 0;
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return raw_syscall4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) < 0 ? 0
										       : st.st_ino;
}

int ring_open(struct ring *ring, const char *directory, uint64_t data_size, uint64_t n_counters,
	      uint64_t now, uint32_t pid)
{
	uint64_t counters_size = n_counters * sizeof(*ring->counters);
	char path[PATH_MAX], final[PATH_MAX];
	long fd, ret;

	if (is_abandoned(directory))
		return -ESRCH;
	make_path(path, directory, PCCE_SELF_NEW, now, pid);
	make_path(final, directory, PCCE_SELF_RING, now, pid);
	fd = raw_syscall4(SYS_openat, AT_FDCWD, path,
			  O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return (int)fd;
	ret = size_file((int)fd, &data_size, PCCE_SELF_HEADER_SIZE + counters_size);
	if (ret == 0)
		ret = map_own_ring(ring, (int)fd, data_size, counters_size);
	if (ret < 0)
		goto out;
	ring->head->n_counters = n_counters;
	ring->head->version = PCCE_SELF_VERSION;
	ring->head->header_size = PCCE_SELF_HEADER_SIZE;
	ring->head->data_size = data_size;
	ring->head->start_time = now;
	ring->head->pid = pid;
	ring->head->pid_ns = pid_namespace();
	if (raw_syscall2(SYS_flock, fd, LOCK_SH | LOCK_NB) == 0)
		ring->head->flags = PCCE_SELF_LOCKED;
	__atomic_store_n(&ring->head->magic, PCCE_SELF_MAGIC, __ATOMIC_RELEASE);
	ret = raw_syscall2(SYS_rename, path, final);
	if (ret < 0)
		ring_close(ring);
out:
	if (ret < 0)
		raw_syscall1(SYS_unlink, path);
	raw_syscall1(SYS_close, fd);
	return (int)ret;
}

void ring_close(struct ring *ring)
{
	uint64_t data_size = ring->mask + 1;

	if (ring->head)
		raw_syscall2(SYS_munmap, ring->head,
			     PCCE_SELF_HEADER_SIZE + 2 * data_size +
				     (ring->counters
					      ? ring->head->n_counters * sizeof(*ring->counters)
					      : 0));
	ring->head = NULL;
}

void *ring_reserve(struct ring *ring, size_t size, uint32_t type)
{
	struct pcce_self_ring *head = ring->head;
	struct pcce_self_record *record;
	uint64_t at, tail;

	size = (size + 15) & ~(size_t)15;
	at = __atomic_load_n(&head->head, __ATOMIC_RELAXED);
	do {
		tail = __atomic_load_n(&head->tail, __ATOMIC_ACQUIRE);
		/* If `at` is older than tail, the exchange fails. */
		if (at + size - tail > ring->mask + 1 && at >= tail)
			return NULL;
	} while (!__atomic_compare_exchange_n(&head->head, &at, at + size, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	record = (struct pcce_self_record *)(ring->data + (at & ring->mask));
	/* A wrong stamp, whatever was here before; until the commit it is the record's position. */
	record->stamp = at;
	record->size = (uint32_t)size;
	record->type = type;
	return record;
}

void ring_commit(struct ring *ring, void *p)
{
	struct pcce_self_record *record = p;

	(void)ring;
	__atomic_store_n(&record->stamp, record->stamp + 1, __ATOMIC_RELEASE);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Exhaustive counting: this object is linked into a program whose slots count_patch has filled
 * with calls of the functions below.  It keeps the calling context tree of all
 * instrumented code, with a count for each node, in the file $PCCE_COUNT_FILE.PID (count.h).
 *
 * Each thread has a stack of the calls that are under way, each with the stack pointer at the call.
 * A frame whose stack pointer is not above that of the present event has ended, however that came
 * about: by return, longjmp or exception.  So nothing has to be repaired.
 *
 *   before-slot   drop what has ended; one frame more
 *   after-slot    drop what has ended, this call among it
 *   entry slot    drop what has ended; if the top frame is the call that led here, it is its
 * function that becomes known (or, the function being known, nothing); else we come from code
 * without slots (qsort, a signal): one frame more
 *
 * General registers only and no library call, since the program's other registers are live.  A
 * forked child is not counted.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "count.h"

#define FRAMES (1u << 24)

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

struct frame {
	uint64_t sp;
	uint32_t node;
	bool entered; /* nothing about its function is open */
};

static struct count_file *file;
static uint32_t
	*table; /* of nodes by parent and address: open addressing, a power of two, 0 is free */
static uint64_t table_size;
static int lock;
static __thread struct frame *frames;
static __thread uint32_t top; /* number of frames */
static __thread bool busy;

static void *map(size_t size)
{
	register long r10 __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	register long r8 __asm__("r8") = -1;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_mmap), "D"(0), "S"(size), "d"(PROT_READ | PROT_WRITE), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result < 0 && result > -4096 ? NULL : (void *)result;
}

static uint64_t hash(uint32_t parent, uint64_t address)
{
	uint64_t h = (address ^ (uint64_t)parent << 32) * 0x9e3779b97f4a7c15ull;

	h ^= h >> 29;
	return h * 0xbf58476d1ce4e5b9ull >> 20;
}

static bool grow(void)
{
	uint64_t size = table_size ? table_size * 2 : 1 << 16;
	uint32_t *bigger = map(size * sizeof(*bigger));

	if (!bigger)
		return false;
	for (uint32_t n = 1; n < file->n_nodes; n++) {
		uint64_t i = hash(file->nodes[n].parent, file->nodes[n].address) & (size - 1);

		while (bigger[i])
			i = (i + 1) & (size - 1);
		bigger[i] = n;
	}
	table = bigger; /* the old one stays mapped: all of them together are no larger than this
			   one */
	table_size = size;
	return true;
}

/* One visit more of a child. 0: there is no room. */
static uint32_t child(uint32_t parent, uint64_t address, enum count_way way)
{
	struct count_node *nodes = file->nodes;
	uint64_t i;
	uint32_t n;

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	if (file->n_nodes * 2 >= table_size && !grow()) {
		__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
		return 0;
	}
	i = hash(parent, address) & (table_size - 1);
	while ((n = table[i]) &&
	       (nodes[n].parent != parent || nodes[n].address != address || nodes[n].way != way))
		i = (i + 1) & (table_size - 1);
	if (!n && file->n_nodes < COUNT_NODES) {
		n = file->n_nodes;
		nodes[n] = (struct count_node){.address = address, .parent = parent, .way = way};
		table[i] = n;
		file->n_nodes = n + 1;
	}
	if (n)
		nodes[n].count++;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	return n;
}

static bool begin(void)
{
	if (!file)
		return false;
	if (busy) {
		__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	busy = true;
	if (!frames)
		frames = map(FRAMES * sizeof(*frames));
	return frames;
}

static void end(void)
{
	busy = false;
}

static void drop_up_to(uint64_t sp)
{
	while (top && frames[top - 1].sp <= sp)
		top--;
}

static void add_frame(uint64_t sp, uint64_t address, enum count_way way)
{
	uint32_t parent = top ? frames[top - 1].node : 0;
	uint32_t node = child(parent, address, way);

	if (!node || top == FRAMES) {
		__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	frames[top++] = (struct frame){.sp = sp, .node = node, .entered = way != COUNT_CALL};
}

/* The following are called by count_entry.S; sp is the stack pointer in the slot. */
__attribute__((visibility("hidden"))) void count_before(uint64_t key, uint64_t sp, bool direct)
{
	if (!begin())
		return;
	drop_up_to(sp);
	add_frame(sp, key, direct ? COUNT_DIRECT : COUNT_CALL);
	end();
}

__attribute__((visibility("hidden"))) void count_after(uint64_t sp)
{
	if (!begin())
		return;
	drop_up_to(sp);
	end();
}

__attribute__((visibility("hidden"))) void count_at_entry(uint64_t address, uint64_t sp)
{
	if (!begin())
		return;
	drop_up_to(sp);
	if (!top || frames[top - 1].sp != sp + 8) {
		add_frame(sp, address, COUNT_ENTRY);
	} else if (!frames[top - 1].entered) {
		uint32_t node = child(frames[top - 1].node, address, COUNT_ENTRY);

		if (node)
			frames[top - 1] =
				(struct frame){.sp = sp + 8, .node = node, .entered = true};
		else
			__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
	}
	end();
}

static void in_child(void)
{
	file = NULL;
}

__attribute__((constructor(101))) static void start(void)
{
	const char *prefix = getenv("PCCE_COUNT_FILE");
	size_t size = sizeof(struct count_file) + (size_t)COUNT_NODES * sizeof(struct count_node);
	struct count_file *f;
	char path[4096];
	int fd;

	if (!prefix)
		return;
	snprintf(path, sizeof(path), "%s.%d", prefix, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)size)) {
		perror(path);
		exit(126);
	}
	f = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED || pthread_atfork(NULL, NULL, in_child)) {
		perror(path);
		exit(126);
	}
	f->base = (uint64_t)&__ehdr_start;
	f->n_nodes = 1;
	f->magic = COUNT_MAGIC;
	file = f;
}

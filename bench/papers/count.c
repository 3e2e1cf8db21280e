/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts every call of instrumented code in a calling context tree.
 *
 * This object is linked into a program whose slots call the functions below (count_patch).  The
 * tree is in the file $PCCE_COUNT_FILE.PID and has a count for each node (count.h).
 *
 * Each thread has a stack of frames, one for each call that has not ended.  A frame holds the stack
 * pointer at the call.  If that is not above the stack pointer of the current event, the call has
 * ended, whether by return, longjmp or exception.
 *
 *   before-slot   drops the frames of ended calls and adds a frame
 *   after-slot    drops the frames of ended calls, among them this call's
 *   entry slot    drops the frames of ended calls.  If the top frame is the call that led here, its
 *                 node becomes that of the entered function, unless the function is known already.
 *                 Otherwise code without slots led here (qsort, a signal), and a frame is added.
 *
 * The functions use general registers only and call no library, because the program's other
 * registers are live.  A forked child is not counted.
 */
#include <elf.h>
#include <errno.h>
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
	bool entered; /* its function is known */
};

static struct count_file *file;
/* Hash table of nodes by parent and address, with open addressing; 0 is a free place. */
static uint32_t *table;
static uint64_t table_size; /* a power of two */
static int lock;
static __thread struct frame *frames;
static __thread uint32_t top; /* number of frames */
static __thread bool busy;

static void *map_pages(size_t size)
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

static uint64_t node_hash(uint32_t parent, uint64_t address)
{
	uint64_t h = (address ^ (uint64_t)parent << 32) * 0x9e3779b97f4a7c15ull;

	h ^= h >> 29;
	return h * 0xbf58476d1ce4e5b9ull >> 20;
}

static bool table_grow(void)
{
	uint64_t size = table_size ? table_size * 2 : 1 << 16;
	uint32_t *bigger = map_pages(size * sizeof(*bigger));

	if (!bigger)
		return false;
	for (uint32_t n = 1; n < file->n_nodes; n++) {
		uint64_t i = node_hash(file->nodes[n].parent, file->nodes[n].address) & (size - 1);

		while (bigger[i])
			i = (i + 1) & (size - 1);
		bigger[i] = n;
	}
	/* The old tables stay mapped.  Together they are no larger than this one. */
	table = bigger;
	table_size = size;
	return true;
}

/* Counts a visit of a child, which it adds if it is new.  Returns the child, or 0 without room. */
static uint32_t visit_child(uint32_t parent, uint64_t address, enum count_way way)
{
	struct count_node *nodes = file->nodes;
	uint64_t i;
	uint32_t n;

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	if (file->n_nodes * 2 >= table_size && !table_grow()) {
		__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
		return 0;
	}
	i = node_hash(parent, address) & (table_size - 1);
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

static bool begin_event(void)
{
	if (!file)
		return false;
	if (busy) {
		__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	busy = true;
	if (!frames)
		frames = map_pages(FRAMES * sizeof(*frames));
	return frames;
}

static void end_event(void)
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
	uint32_t node = visit_child(parent, address, way);

	if (!node || top == FRAMES) {
		__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	frames[top++] = (struct frame){.sp = sp, .node = node, .entered = way != COUNT_CALL};
}

/* count_entry.S calls the following functions.  sp is the stack pointer in the slot. */
__attribute__((visibility("hidden"))) void count_before(uint64_t key, uint64_t sp, bool direct)
{
	if (!begin_event())
		return;
	drop_up_to(sp);
	add_frame(sp, key, direct ? COUNT_DIRECT : COUNT_CALL);
	end_event();
}

__attribute__((visibility("hidden"))) void count_after(uint64_t sp)
{
	if (!begin_event())
		return;
	drop_up_to(sp);
	end_event();
}

__attribute__((visibility("hidden"))) void count_at_entry(uint64_t address, uint64_t sp)
{
	if (!begin_event())
		return;
	drop_up_to(sp);
	if (!top || frames[top - 1].sp != sp + 8) {
		add_frame(sp, address, COUNT_ENTRY);
	} else if (!frames[top - 1].entered) {
		uint32_t node = visit_child(frames[top - 1].node, address, COUNT_ENTRY);

		if (node)
			frames[top - 1] =
				(struct frame){.sp = sp + 8, .node = node, .entered = true};
		else
			__atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
	}
	end_event();
}

static void stop_in_child(void)
{
	file = NULL;
}

static void fail_start(const char *path)
{
	fprintf(stderr, "count: cannot create '%s': %s\n", path, strerror(errno));
	exit(126);
}

__attribute__((constructor(101))) static void start_counting(void)
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
		fail_start(path);
	}
	f = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED || pthread_atfork(NULL, NULL, stop_in_child)) {
		fail_start(path);
	}
	f->base = (uint64_t)&__ehdr_start;
	f->n_nodes = 1;
	f->magic = COUNT_MAGIC;
	file = f;
}

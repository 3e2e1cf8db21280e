/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stacks
 * stacks BYTES COMMAND...
 *
 * Tests the copies of stacks (PCCE_KMOD_COPY_STACKS): their content, whose they are, and that
 * samples without room change nothing; and the kernel's own stacks (PCCE_KMOD_KERNEL_STACKS).
 * Each getppid() is a sample.
 *
 * With arguments, executes a command that may lock that many bytes of memory and no more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcce/sample.h>

#include "begin_session.h"
#include "guest.h"
#include "made_page.h"
#include "sampler/kmod_session.h"

extern void *__libc_stack_end;

#define NOINLINE __attribute__((noinline, noclone))
#define WORDS 200 /* of a pattern on the stack */
#define CALLS 2000
#define BASE 0xfeed000000000000ULL

static uint64_t event;
static uint64_t system_call; /* address of the kernel's entry code */
static uint64_t bases[4];    /* by thread: where its stack ends; 0: not checked */

static struct kmod_session *begin(uint32_t flags, uint32_t ring_bytes)
{
	int64_t offset = (int64_t)((char *)&page - (char *)__builtin_thread_pointer());
	struct pcce_kmod_setup c = usual_setup();

	c.type = PERF_TYPE_TRACEPOINT;
	c.config = event;
	c.flags = flags;
	c.rate = 1;
	c.ring_bytes = ring_bytes;
	return begin_session(&c, &offset);
}

struct verdict {
	unsigned int samples, copies, right, registers_only, large;
};

/* Does a stack that was copied end at its base? */
static bool ends_at_base(uint64_t thread, uint64_t end)
{
	return thread >= 4 || !bases[thread] || (end >= bases[thread] && end < bases[thread] + 32);
}

/*
 * The caller of getppid() has put a pattern on its stack: its address, then the number of the call
 * and of the thread in each word.  rbx holds the first of these words.
 */
static int judge_stack(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	const uint64_t *registers = pcce_sample_stack(s), *stack = registers + PCCE_COPY_REGISTERS;
	struct verdict *v = ctx;
	uint64_t n = s->n_stack - PCCE_COPY_REGISTERS, at, i;

	v->samples++;
	(void)kernel;
	if (!(s->flags & PCCE_SAMPLE_COPY) || size != pcce_sample_size(s) ||
	    s->n_stack < PCCE_COPY_REGISTERS)
		return 0;
	v->copies++;
	v->registers_only += !n;
	for (at = 0; at < n && stack[at] != s->sp + at * 8; at++)
		;
	if (at + WORDS > n || registers[0] != stack[at + 1])
		return 0;
	for (i = 2; i < WORDS && stack[at + i] == registers[0] + i - 1; i++)
		;
	v->right += i == WORDS && ends_at_base((registers[0] - BASE) >> 32, s->sp + n * 8);
	v->large += n > 50000 / 8;
	return 0;
}

static NOINLINE void fill_pattern(volatile uint64_t *p, uint64_t value)
{
	p[0] = (uint64_t)(uintptr_t)p;
	for (unsigned int i = 1; i < WORDS; i++)
		p[i] = value + i - 1;
}

/* A sample with rbx = value, and the words at p as judge_stack() expects them. */
static NOINLINE void sample_pattern(uint64_t value)
{
	volatile uint64_t p[WORDS];
	long number = SYS_getppid;

	/* A function that calls has nothing below its stack pointer. */
	fill_pattern(p, value);
	__asm__ volatile("syscall" : "+a"(number) : "b"(value) : "rcx", "r11", "memory");
}

/* The same, that many bytes further down. */
static NOINLINE void sample_deeper(uint64_t value, size_t bytes)
{
	volatile char room[bytes + 1];

	/* Only pages that have been used are in memory. */
	for (size_t i = 0; i < bytes; i += 1000)
		room[i] = 1;
	room[0] = room[bytes] = 1;
	sample_pattern(value);
	room[bytes] = 0;
}

static void *call_often(void *arg)
{
	uint64_t value = BASE + ((uint64_t)(uintptr_t)arg << 32);

	volatile char *base = __builtin_thread_pointer();

	/* All up to the base is in memory, also what is left free for libraries' data. */
	for (volatile char *p = __builtin_frame_address(0); p < base; p += 1024)
		*p = *p;
	bases[(uintptr_t)arg] = (uint64_t)(uintptr_t)base;
	for (unsigned int i = 0; i < CALLS; i++)
		sample_deeper(value + i / 3 * WORDS, i % 100 ? i * 37 % 5000 : 100000);
	return NULL;
}

static struct verdict end(struct kmod_session *k, struct verdict v)
{
	long err = kmod_session_stop(k);

	if (!err)
		err = kmod_session_read(k, judge_stack, &v);
	expect("a session with stacks can be read", err, 0);
	kmod_session_close(k);
	return v;
}

static void content(void)
{
	struct kmod_session *k = begin(PCCE_KMOD_COPY_STACKS | PCCE_KMOD_COPY_ALL, 16 << 20);
	struct verdict v = {0};
	pthread_t t[3];
	uint64_t bytes;

	for (uintptr_t i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, call_often, (void *)(i + 1)))
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	kmod_session_stop(k);
	if (kmod_session_read(k, judge_stack, &v))
		v.right = 0;
	bytes = kmod_session_copied(k);
	kmod_session_close(k);
	result(v.samples == 3 * CALLS && v.right == v.samples,
	       "each sample has registers and stack as they were, up to its base (%u of %u)",
	       v.right, v.samples);
	result(v.large == 3 * CALLS / 100, "... also a stack of many parts (%u)", v.large);
	result(bytes < (uint64_t)v.samples * 8192 / 2,
	       "less than half of the stacks was sent (%llu)", (unsigned long long)bytes);
}

static void losses(void)
{
	struct kmod_session *k =
		begin(PCCE_KMOD_COPY_STACKS | PCCE_KMOD_COPY_ALL, PCCE_KMOD_RING_MIN);
	struct pcce_kmod_stats stats;
	struct verdict v = {0};
	long err = 0;

	for (unsigned int i = 0; i < 20 && !err; i++) {
		for (unsigned int n = 0; n < 100; n++)
			sample_deeper(BASE + (i * 100 + n) * WORDS, n * 41 % 3000);
		err = kmod_session_read(k, judge_stack, &v);
	}
	kmod_session_stats(k, &stats);
	v = end(k, v);
	result(!err && stats.dropped[PCCE_KMOD_DROP_FULL] > 100 && v.samples > 100 &&
		       v.samples + stats.dropped[PCCE_KMOD_DROP_FULL] == 2000,
	       "samples without room are counted (%u samples, %llu dropped)", v.samples,
	       (unsigned long long)stats.dropped[PCCE_KMOD_DROP_FULL]);
	result(v.right == v.samples, "... and the others have the stack as it was (%u)", v.right);
}

static void whose(void)
{
	struct kmod_session *k;
	struct verdict v;

	make_area();
	memset(&page, 0, sizeof(page));
	k = begin(PCCE_KMOD_COPY_STACKS, 1 << 20);
	for (int i = 0; i < 50; i++)
		sample_pattern(BASE);
	v = end(k, (struct verdict){0});
	result(v.samples == 50 && !v.copies, "COPY_STACKS: none of a thread without a page (%u)",
	       v.copies);
	make_page(3, 0, false);
	k = begin(PCCE_KMOD_COPY_STACKS, 1 << 20);
	for (int i = 0; i < 50; i++)
		sample_pattern(BASE);
	v = end(k, (struct verdict){0});
	result(v.samples == 50 && v.right == 50, "COPY_STACKS: those of a thread with a page (%u)",
	       v.right);
	k = begin(0, 1 << 20);
	for (int i = 0; i < 50; i++)
		sample_pattern(BASE);
	v = end(k, (struct verdict){0});
	result(v.samples == 50 && !v.copies, "without the flags: none (%u)", v.copies);
	memset(&page, 0, sizeof(page));
}

/* Reads the address of the kernel's entry code for system calls. */
static void find_system_call(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], name[256];
	unsigned long long at;

	while (f && !system_call && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %255s", &at, name) == 2 &&
		    !strcmp(name, "entry_SYSCALL_64_after_hwframe"))
			system_call = at;
	if (f)
		fclose(f);
}

/* Is this the kernel's stack of a system call, from its entry on? */
static bool is_system_call(const struct pcce_sample *s, const uint64_t *kernel)
{
	return s->flags & PCCE_SAMPLE_KERNEL_STACK && s->kip > 2 && s->kip < 20 &&
	       kernel[s->kip - 1] > system_call && kernel[s->kip - 1] < system_call + 512;
}

static struct kernel_verdict {
	unsigned int samples, whole, calls;
} of_kernel;

static int judge_kernel(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	(void)ctx;
	(void)size;
	if (!(s->flags & PCCE_SAMPLE_KERNEL))
		return 0;
	of_kernel.samples++;
	of_kernel.whole += s->flags & PCCE_SAMPLE_KERNEL_STACK && s->kip < PCCE_KERNEL_FRAMES;
	of_kernel.calls += is_system_call(s, kernel);
	return 0;
}

/* A clock's samples while this thread reads zeros. */
static void kernel_stacks(uint32_t flags)
{
	int64_t offset = (int64_t)((char *)&page - (char *)__builtin_thread_pointer());
	struct pcce_kmod_setup c = usual_setup();
	struct kmod_session *k;
	static char zeros[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	c.flags |= flags;
	c.ring_bytes = 1 << 20;
	k = begin_session(&c, &offset);
	of_kernel = (struct kernel_verdict){0};
	for (int i = 0; i < 20000 && of_kernel.calls < 20 && of_kernel.samples < 2000; i++) {
		if (read(fd, zeros, sizeof(zeros)) < 0)
			abort();
		if (kmod_session_read(k, judge_kernel, NULL))
			break;
	}
	kmod_session_stop(k);
	kmod_session_close(k);
	close(fd);
	if (flags & PCCE_KMOD_KERNEL_STACKS)
		result(of_kernel.calls >= 20 && of_kernel.whole == of_kernel.samples,
		       "flags %u: the kernel's stack, whole (%u of %u, %u in system calls)", flags,
		       of_kernel.whole, of_kernel.samples, of_kernel.calls);
	else
		result(of_kernel.samples && !of_kernel.whole, "flags %u: none (%u of %u)", flags,
		       of_kernel.whole, of_kernel.samples);
}

/* A sample while the stack pointer is not one. */
static NOINLINE void sample_at(uint64_t sp)
{
	long number = SYS_getppid;

	__asm__ volatile("mov %%rsp, %%r12\n\tmov %1, %%rsp\n\tsyscall\n\tmov %%r12, %%rsp"
			 : "+a"(number)
			 : "r"(sp)
			 : "rcx", "r11", "r12", "memory");
}

static void nowhere(void)
{
	static const uint64_t places[] = {0,
					  8,
					  0x1001,
					  0x7fffffffffe0,
					  0x800000000000,
					  0xffff888000000000,
					  0xffffffff81000000,
					  0xffffffffffffffe0,
					  0xffffffffffffffff};
	const unsigned int n = sizeof(places) / sizeof(places[0]);
	struct kmod_session *k = begin(PCCE_KMOD_COPY_STACKS | PCCE_KMOD_COPY_ALL, 1 << 20);
	struct verdict v;

	for (unsigned int i = 0; i < n; i++)
		sample_at(places[i]);
	sample_pattern(BASE);
	v = end(k, (struct verdict){0});
	result(v.samples == n + 1 && v.registers_only == n && v.right == 1,
	       "a stack pointer that leads nowhere: registers only (%u of %u)", v.registers_only,
	       n);
}

/* A session without privilege, on a child that may be looked into at its start. */
static void hidden_child(bool dumpable)
{
	struct pcce_kmod_setup c = usual_setup();
	struct verdict v = {0};
	struct kmod_session *k;
	struct error why;
	long err = kmod_session_open(&k, &why);

	if (!err && (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000)))
		err = -errno;
	prctl(PR_SET_DUMPABLE, dumpable);
	c.flags |= PCCE_KMOD_EXCLUDE_KERNEL | PCCE_KMOD_COPY_STACKS | PCCE_KMOD_COPY_ALL;
	if (!err)
		err = kmod_session_setup(k, &c);
	if (!err)
		err = kmod_session_start(k);
	for (int i = 0; i < 600 && !err && v.samples < 20; i++) {
		burn_ms(20);
		err = kmod_session_read(k, judge_stack, &v);
	}
	result(!err && v.samples >= 20 && v.copies == (dumpable ? v.samples : 0),
	       "without privilege: a process that is %sdumpable (%u samples, %u stacks)",
	       dumpable ? "" : "not ", v.samples, v.copies);
	if (err)
		printf("#   %s\n", strerror((int)-err));
	kmod_session_close(k);
	fflush(stdout);
	_exit(0);
}

static void unprivileged(void)
{
	write_to("/sys/module/pcce_sampler/parameters/unprivileged", "Y");
	fflush(stdout);
	for (int dumpable = 0; dumpable < 2; dumpable++) {
		pid_t pid = fork();

		if (pid == 0)
			hidden_child(dumpable);
		waitpid(pid, NULL, 0);
	}
	write_to("/sys/module/pcce_sampler/parameters/unprivileged", "N");
}

static int with_limit(char **argv)
{
	struct rlimit limit;

	limit.rlim_cur = limit.rlim_max = strtoul(argv[1], NULL, 0);
	/* Root gets all capabilities that are left here when it executes a program. */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0))
		return 1;
	execvp(argv[2], argv + 2);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return with_limit(argv);
	event = tracepoint("syscalls/sys_enter_getppid");
	bases[0] = (uint64_t)(uintptr_t)__libc_stack_end;
	content();
	losses();
	find_system_call();
	kernel_stacks(PCCE_KMOD_KERNEL_STACKS);
	kernel_stacks(PCCE_KMOD_KERNEL_STACKS | PCCE_KMOD_COPY_STACKS | PCCE_KMOD_COPY_ALL);
	kernel_stacks(0);
	whose();
	nowhere();
	unprivileged();
	return 0;
}

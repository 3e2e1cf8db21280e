/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Puts the counting engine into a process: see inject.h.
 *
 * The process stops when the kernel has loaded the program, before the dynamic linker runs. Memory
 * there is mapped by system calls that the process is made to execute: the bytes at its instruction
 * pointer become `syscall; int3` meanwhile. All else is written through /proc/PID/mem, which may
 * also write to code.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>
#include "base/tracee.h"
#include "count/inject.h"
#include "count/room.h"
#include "elf/x86.h"

#define MEMORY_SIZE (1ULL << 36) /* reserved for what the engine needs beside the area */
#define PAGE 4096ULL
#define NEAR_STEP (16ULL << 20)
#define FAR_ABOVE (1ULL << 30) /* the heap may grow so far behind the program */
#define LOWEST 0x100000ULL
#define LIBRARIES (1ULL << 36) /* bytes that remain for libraries and other mappings */
#define JUMP_FAR 14	       /* bytes: a jump and its target */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

__asm__("	.section .rodata\n"
	"	.p2align 12\n"
	"	.globl count_engine\n"
	"	.type count_engine, @object\n"
	"count_engine:\n"
	"	.incbin \"count_engine.bin\"\n"
	"	.size count_engine, . - count_engine\n"
	"	.previous\n");

const struct pcce_count_head *count_engine_head(void)
{
	return (const struct pcce_count_head *)count_engine;
}

struct target {
	pid_t pid;
	int mem;
	struct user_regs_struct regs; /* at its first instruction */
	uint8_t code[3];	      /* what is there */
};

static int write_target(void *ctx, uint64_t address, const void *bytes, size_t n)
{
	const struct target *t = ctx;
	ssize_t done = pwrite(t->mem, bytes, n, (off_t)address);

	return done == (ssize_t)n ? 0 : done < 0 ? -errno : -EIO;
}

int inject_attach(pid_t pid, struct error *why)
{
	int err = tracee_attach(pid);

	return err ? error_set(why, err, "the command cannot be traced: %s", strerror(-err)) : 0;
}

/* Stops the process at the first instruction in user space. */
static int stop_at_start(struct target *t)
{
	char path[64];
	int err = tracee_wait(t->pid, SIGTRAP, PTRACE_EVENT_EXEC);

	if (!err && ptrace(PTRACE_SYSCALL, t->pid, 0, 0))
		err = -errno;
	if (!err)
		err = tracee_wait(t->pid, SIGTRAP | 0x80, 0);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)t->pid);
	t->mem = open(path, O_RDWR | O_CLOEXEC);
	if (t->mem < 0)
		return -errno;
	if (ptrace(PTRACE_GETREGS, t->pid, 0, &t->regs))
		return -errno;
	if (pread(t->mem, t->code, sizeof(t->code), (off_t)t->regs.rip) != sizeof(t->code))
		return -EIO;
	return 0;
}

/* Lets the process execute a system call. Returns its result. */
static int64_t remote_call(struct target *t, long number, uint64_t a, uint64_t b, uint64_t c,
			   uint64_t d, uint64_t e)
{
	static const uint8_t call[] = {0x0f, 0x05, 0xcc}; /* syscall; int3 */
	struct user_regs_struct regs = t->regs;
	int err = write_target(t, regs.rip, call, sizeof(call));

	regs.rax = (unsigned long long)number;
	regs.orig_rax = ~0ULL;
	regs.rdi = a;
	regs.rsi = b;
	regs.rdx = c;
	regs.r10 = d;
	regs.r8 = e;
	regs.r9 = 0;
	if (!err && ptrace(PTRACE_SETREGS, t->pid, 0, &regs))
		err = -errno;
	if (!err && ptrace(PTRACE_CONT, t->pid, 0, 0))
		err = -errno;
	if (!err)
		err = tracee_wait(t->pid, SIGTRAP, 0);
	if (!err && ptrace(PTRACE_GETREGS, t->pid, 0, &regs))
		err = -errno;
	return err ? err : (int64_t)regs.rax;
}

static int64_t remote_map(struct target *t, uint64_t at, uint64_t size, int prot, int flags, int fd)
{
	return remote_call(t, SYS_mmap, at, size, (uint64_t)prot, (uint64_t)flags, (uint64_t)fd);
}

static bool failed(int64_t result)
{
	return result < 0 && result > -(int64_t)PAGE;
}

/* Maps as much as the process may have, down to min, below an address if that is not 0. */
static int64_t map_most(struct target *t, uint64_t below, __u64 *size, uint64_t min, int flags,
			int fd)
{
	int64_t at;

	for (;; *size /= 2) {
		at = remote_map(t, below > *size ? (below - *size) & -PAGE : 0, *size,
				PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd);
		if (!failed(at) || at != -ENOMEM || *size / 2 < min)
			return at;
	}
}

static int read_auxv(const struct target *t, uint64_t *entry, uint64_t *linker)
{
	uint64_t auxv[2];
	char path[64];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)t->pid);
	in = fopen(path, "re");
	if (!in)
		return -errno;
	while (fread(auxv, sizeof(auxv), 1, in) == 1) {
		if (auxv[0] == AT_ENTRY)
			*entry = auxv[1];
		if (auxv[0] == AT_BASE)
			*linker = auxv[1];
	}
	fclose(in);
	return *entry ? 0 : -EINVAL;
}

/*
 * Lets the dynamic linker's function for debuggers jump to the engine's. It consists of one
 * instruction, and of padding: functions begin at multiples of 16.
 */
static int change_linker(struct target *t, uint64_t address, uint64_t function)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[JUMP_FAR], jump[JUMP_FAR] = {0xff, 0x25}; /* jmp *0(%rip) */
	size_t at = 0;

	if (pread(t->mem, code, sizeof(code), (off_t)address) != sizeof(code))
		return -EIO;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (address % 16 || code[at] != 0xc3)
		return -EINVAL;
	/* A nop may go on behind the bytes that change. */
	for (at++; at < sizeof(code);) {
		uint8_t nop[16] = {0};
		size_t length;

		if (pread(t->mem, nop, sizeof(nop), (off_t)(address + at)) != sizeof(nop))
			return -EIO;
		length = x86_nop_length(nop, sizeof(nop));
		if (!length || at + length > 16)
			return -EINVAL;
		at += length;
	}
	memcpy(jump + JUMP_FAR - sizeof(function), &function, sizeof(function));
	return write_target(t, address, jump, sizeof(jump));
}

/* Maps memory that the program's code can reach: below it, or else above it and its heap. */
static int64_t map_near(struct target *t, uint64_t first, uint64_t end, uint64_t size)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uint64_t at;
	int64_t result = -ENOMEM;

	for (int i = 0; i < 32; i++) {
		at = (first & -PAGE) - size - (uint64_t)i * NEAR_STEP;
		if (at > first || at < LOWEST)
			break;
		result = remote_map(t, at, size, PROT_READ | PROT_EXEC, flags, -1);
		if (!failed(result))
			return result;
	}
	for (int i = 0; i < 16; i++) {
		at = ((end + PAGE - 1) & -PAGE) + FAR_ABOVE + (uint64_t)i * NEAR_STEP;
		result = remote_map(t, at, size, PROT_READ | PROT_EXEC, flags, -1);
		if (!failed(result))
			return result;
	}
	return result;
}

static int write_code(struct target *t, const struct count_plan *plan, const struct count_layout *l,
		      uint64_t at, const struct pcce_count_config *config)
{
	const struct pcce_count_head *head = count_engine_head();
	size_t size = count_plan_stubs_size(plan, l->burst);
	uint8_t *stubs = malloc(size + 1);
	int err;

	if (!stubs)
		return -ENOMEM;
	count_plan_stubs(plan, l, stubs);
	err = write_target(t, at, count_engine, head->end);
	if (!err)
		err = write_target(t, at + head->config, config, sizeof(*config));
	if (!err && size)
		err = write_target(t, l->stubs, stubs, size);
	free(stubs);
	return err ? err : count_plan_patch(plan, l, write_target, t);
}

static int fill_process(struct target *t, const struct inject_request *r, struct inject_result *out,
			struct error *why)
{
	const struct pcce_count_head *head = count_engine_head();
	uint64_t size = (head->end + count_plan_stubs_size(r->plan, r->bursts) + PAGE - 1) & -PAGE,
		 entry = 0, linker = 0, below;
	struct pcce_count_config config = r->config;
	struct count_layout layout = {.first = 1};
	int64_t at, memory, area, modules, burst = 0;
	int err = read_auxv(t, &entry, &linker);

	config.memory_size = r->memory_size < MEMORY_SIZE ? r->memory_size & -PAGE : MEMORY_SIZE;
	if (err)
		return error_set(why, err, "its entry point is not known");
	out->bias = layout.bias = entry - r->entry;
	out->area_size = r->area_size;
	/* Libraries and their stubs come directly below the dynamic linker. */
	below = linker > LIBRARIES ? linker - LIBRARIES : 0;
	area = map_most(t, below, &out->area_size, COUNT_ROOM_MIN, MAP_SHARED, r->area);
	memory = failed(area) ? area
			      : map_most(t, below ? (uint64_t)area : 0, &config.memory_size,
					 COUNT_ROOM_MIN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	modules = failed(memory) ? memory
				 : remote_map(t, 0, sizeof(struct pcce_count_modules),
					      PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (failed(modules))
		memory = modules;
	if (failed(memory))
		return error_set(why, (int)memory, "the program may not map memory: %s",
				 strerror((int)-memory));
	at = map_near(t, r->first + layout.bias, r->end + layout.bias,
		      size + (r->bursts ? PAGE : 0));
	/* The page behind the stubs is the area's first one, where the code can reach it. */
	if (!failed(at) && r->bursts)
		burst = remote_map(t, (uint64_t)at + size, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
				   r->area);
	if (failed(burst))
		at = burst;
	if (failed(at))
		return error_set(why, (int)at,
				 "there is no room for the counting code near the program: %s",
				 strerror((int)-at));
	if (remote_call(t, SYS_madvise, (uint64_t)memory, config.memory_size, MADV_WIPEONFORK, 0,
			0))
		return error_set(why, -ENOSYS, "the kernel is too old; Linux 4.14 is needed");
	remote_call(t, SYS_madvise, (uint64_t)memory, config.memory_size, MADV_DONTDUMP, 0, 0);
	remote_call(t, SYS_madvise, (uint64_t)area, out->area_size, MADV_DONTDUMP, 0, 0);
	remote_call(t, SYS_close, (uint64_t)r->area, 0, 0, 0, 0);
	config.area = (uint64_t)area;
	config.memory = (uint64_t)memory;
	config.text = r->plan->text + layout.bias;
	config.text_end = r->plan->text_end + layout.bias;
	config.places = r->plan->n_places;
	config.modules = (uint64_t)modules;
	config.debug = r->linker->debug + linker;
	config.code = (uint64_t)at + head->begin;
	config.stubs = (uint64_t)at + head->end;
	config.code_end = (uint64_t)at + size;
	config.stub_size = count_plan_stub_size(r->bursts);
	config.function = (uint64_t)at + r->function;
	if (r->plan->module) {
		config.ends = config.stubs + count_plan_ends_at(r->plan, r->bursts);
		config.ends_end = config.stubs + count_plan_stubs_size(r->plan, r->bursts);
	}
	layout.end = (uint64_t)at + head->latency_end;
	layout.jump = (uint64_t)at + head->latency_jump;
	out->function = layout.engine = config.tpoff ? config.function : (uint64_t)at + head->late;
	layout.stubs = config.stubs;
	if (r->bursts)
		layout.burst = (uint64_t)burst + offsetof(struct pcce_count_area, burst);
	out->config = config;
	err = write_code(t, r->plan, &layout, (uint64_t)at, &config);
	if (!err && !config.tpoff &&
	    remote_call(t, SYS_mprotect, (uint64_t)at + head->config, PAGE, PROT_READ | PROT_WRITE,
			0, 0))
		err = -ENOMEM;
	if (!linker || !r->linker->state ||
	    change_linker(t, r->linker->state + linker, (uint64_t)at + head->modules))
		*r->linker = (struct count_linker){0};
	return err ? error_set(why, err, "the program's code cannot be changed: %s", strerror(-err))
		   : 0;
}

int inject(pid_t pid, const struct inject_request *request,
	   int (*ready)(void *ctx, const struct inject_result *result, struct error *why),
	   void *ctx, struct inject_result *out, struct error *why)
{
	struct target t = {.pid = pid, .mem = -1};
	int err = stop_at_start(&t);

	if (err) {
		error_set(why, err, "the command did not stop at its start: %s", strerror(-err));
	} else {
		err = fill_process(&t, request, out, why);
		if (!err)
			err = ready(ctx, out, why);
		write_target(&t, t.regs.rip, t.code, sizeof(t.code));
		ptrace(PTRACE_SETREGS, pid, 0, &t.regs);
	}
	if (t.mem >= 0)
		close(t.mem);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return err;
}

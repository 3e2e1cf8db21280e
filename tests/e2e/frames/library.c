/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A library that is not instrumented, whose functions have frames of all kinds.  So each way to
 * find the end of a frame is used. */
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
typedef unsigned long work(unsigned long);

/* The innermost function, which calls nothing. */
NOINLINE unsigned long lib_leaf(unsigned long n)
{
	unsigned long x = n | 1;

	for (volatile int i = 0; i < 20000; i++)
		x = x * 6364136223846793005u + 1;
	return x;
}

/* Its frame has a size that only a register knows. */
NOINLINE unsigned long lib_any_size(unsigned long n)
{
	char room[n % 7 * 64 + 16];

	memset(room, (int)n, sizeof(room));
	return lib_leaf(n) + (unsigned char)room[n % 16];
}

/* It saves all registers, and uses them. */
NOINLINE unsigned long lib_saves(unsigned long a, unsigned long b, unsigned long c, unsigned long d,
				 unsigned long e, work *f)
{
	unsigned long x = lib_any_size(a), y = f(b);

	return lib_any_size(x + b) + lib_any_size(y + c) + lib_any_size(d + x) + e * y + a;
}

/* Its stack pointer is aligned. */
NOINLINE unsigned long lib_aligned(unsigned long n)
{
	__attribute__((aligned(64))) volatile unsigned long room[8] = {n};

	return lib_saves(room[0], n + 1, n + 2, n + 3, n + 4, lib_leaf) + room[n % 8];
}

NOINLINE unsigned long lib_recursive(unsigned long n, int depth)
{
	unsigned long x = depth ? lib_recursive(n + 1, depth - 1) : lib_aligned(n);

	return x + lib_leaf(x);
}

/* Its frame has several KB. The kernel copies only pages that have been used. */
NOINLINE unsigned long lib_wide(unsigned long n, int depth)
{
	volatile char room[5000];

	for (int i = 0; i < 5000; i += 1000)
		room[i] = room[n % 5000] = 1;
	return (depth ? lib_wide(n + 1, depth - 1) : lib_leaf(n)) + lib_leaf(n) + room[n % 5000];
}

/* It calls back. */
NOINLINE unsigned long lib_calls(work *f, unsigned long n)
{
	return f(n) + lib_any_size(n);
}

/* Makes a system call, in frames of all kinds. */
NOINLINE unsigned long lib_ask(unsigned long n)
{
	return (unsigned long)syscall(SYS_getppid) * 0 + n;
}

NOINLINE unsigned long lib_ask_any_size(unsigned long n)
{
	char room[n % 7 * 64 + 16];

	memset(room, (int)n, sizeof(room));
	return lib_ask(n) + (unsigned char)room[n % 16];
}

NOINLINE unsigned long lib_ask_aligned(unsigned long n)
{
	__attribute__((aligned(64))) volatile unsigned long room[8] = {n};

	return lib_ask_any_size(room[0]) + lib_ask(n) + room[n % 8];
}

NOINLINE unsigned long lib_ask_deep(unsigned long n, int depth)
{
	unsigned long x = depth ? lib_ask_deep(n + 1, depth - 1) : lib_ask_aligned(n);

	return x + lib_ask(x);
}

/* Writes to a page, at the end of some calls. */
NOINLINE int lib_touch(char *page, int depth)
{
	volatile int kept = depth;

	if (depth)
		return lib_touch(page, depth - 1) + kept;
	*page = 1;
	return kept;
}

/* A library without unwind information for this function. */
__asm__(".globl lib_blind\n.type lib_blind, @function\nlib_blind:\n\tpush %rbx\n\tmov %rdi, %rbx\n"
	"\tcall lib_leaf@PLT\n\tadd %rbx, %rax\n\tpop %rbx\n\tret\n.size lib_blind, . - "
	"lib_blind\n");

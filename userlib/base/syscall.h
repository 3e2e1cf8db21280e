/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes system calls without errno and without the C library.
 *
 * It is for code that runs in signal handlers, in threads whose start is not finished, or in the
 * middle of a push. The calls return -errno like the kernel, and contain no cancellation point.
 */
#ifndef PCCE_USERLIB_SYSCALL_H
#define PCCE_USERLIB_SYSCALL_H

#include <sys/syscall.h>

#define MEMORY_PAGE 4096

static inline long raw_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define RAW_ARG(x) ((long)(x))
#define raw_syscall0(n) raw_syscall6(n, 0, 0, 0, 0, 0, 0)
#define raw_syscall1(n, a) raw_syscall6(n, RAW_ARG(a), 0, 0, 0, 0, 0)
#define raw_syscall2(n, a, b) raw_syscall6(n, RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define raw_syscall3(n, a, b, c) raw_syscall6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define raw_syscall4(n, a, b, c, d) \
	raw_syscall6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)
#define raw_syscall5(n, a, b, c, d, e) \
	raw_syscall6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), RAW_ARG(e), 0)

static inline void *raw_mmap(void *at, unsigned long length, int prot, int flags, int fd,
			     long offset)
{
	return (void *)raw_syscall6(SYS_mmap, (long)at, (long)length, prot, flags, fd, offset);
}

static inline int raw_failed(const void *p)
{
	return (unsigned long)p > -4096UL;
}

#endif

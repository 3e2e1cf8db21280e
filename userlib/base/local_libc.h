/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gives the self sampler private copies of the few C library functions that its handler calls.
 *
 * Sanitizers replace these functions. ThreadSanitizer's versions use the state of the thread that
 * the handler has interrupted, perhaps in the middle of a change. Their checks then fail, or report
 * a race in the program that is none.
 *
 * The declarations only give other names to the linker. So the compiler's own calls, as for the
 * assignment of a large structure, have these names too.
 */
#ifndef PCCE_USERLIB_LOCAL_LIBC_H
#define PCCE_USERLIB_LOCAL_LIBC_H

#include <string.h>
#include <time.h>

#pragma GCC visibility push(hidden)

void *memcpy(void *to, const void *from, size_t size) __asm__("pcce_memcpy");
void *memset(void *to, int byte, size_t size) __asm__("pcce_memset");
size_t strlen(const char *text) __asm__("pcce_strlen");
#undef strchr /* glibc 2.43 makes it a macro */
char *strchr(const char *text, int c) __asm__("pcce_strchr");

/* The kernel's function in the vdso, without a system call. local_clock_start() finds it. Before,
 * and where the vdso has no such function, it makes a system call. */
int clock_gettime(clockid_t clock, struct timespec *ts) __asm__("pcce_clock_gettime");
void local_clock_start(void);

#pragma GCC visibility pop

#endif

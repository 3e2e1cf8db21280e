// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gives threads an alternate stack for the crash handler (crash.c), unless they have one: a thread
 * whose stack is full has no room for a handler. The program can set another one at any time.
 */
#include <signal.h>
#include <sys/mman.h>
#include "base/confined.h"
#include "contexts/crash.h"
#include "internal.h"
#include "base/syscall.h"

#define STACK_SIZE (64ul << 10)

bool crash_installed;

void crash_thread_begin(struct pcce_thread *t)
{
	stack_t now, own = {.ss_size = STACK_SIZE};
	char *p;

	if (!crash_installed || t->crash_stack || is_confined(CONFINED) ||
	    raw_syscall2(SYS_sigaltstack, NULL, &now) < 0 || !(now.ss_flags & SS_DISABLE))
		return;
	p = raw_mmap(NULL, MEMORY_PAGE + STACK_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(p))
		return;
	raw_syscall3(SYS_mprotect, p, MEMORY_PAGE, PROT_NONE);
	own.ss_sp = p + MEMORY_PAGE;
	if (raw_syscall2(SYS_sigaltstack, &own, NULL) < 0) {
		raw_syscall2(SYS_munmap, p, MEMORY_PAGE + STACK_SIZE);
		return;
	}
	t->crash_stack = own.ss_sp;
}

void crash_thread_end(struct pcce_thread *t)
{
	stack_t now, none = {.ss_flags = SS_DISABLE};

	if (!t->crash_stack || is_confined(CONFINED) ||
	    raw_syscall2(SYS_sigaltstack, NULL, &now) < 0)
		return;
	/* This fails if the thread ends on the stack, which then stays. */
	if (now.ss_sp == t->crash_stack && raw_syscall2(SYS_sigaltstack, &none, NULL) < 0)
		return;
	raw_syscall2(SYS_munmap, t->crash_stack - MEMORY_PAGE, MEMORY_PAGE + STACK_SIZE);
	t->crash_stack = NULL;
}

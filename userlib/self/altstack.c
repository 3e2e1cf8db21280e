// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gives the sampling handler a stack in each thread, and interposes sigaltstack(), so that the
 * program does not notice.
 *
 * The handler must not run on the stack that it interrupts: the program may have made that one just
 * large enough (a thread, a coroutine). So it runs on an alternate stack (SA_ONSTACK). The kernel
 * knows one such stack for each thread, for all handlers. An alternate stack of the program may be
 * too small for the handler: programs use MINSIGSTKSZ, 2,048 bytes, of which the kernel's frame
 * alone takes half and more. Therefore:
 *
 *  - A thread gets a stack of STACK_SIZE bytes, which the runtime owns, with a guard page below.
 *  - sigaltstack() tells the program what the program has set. If that stack has less than
 *    LARGE_STACK bytes, the kernel keeps the runtime's, and the program's handlers run on it: they
 *    have more room than they asked for, also under a sample.
 *  - A stack of LARGE_STACK bytes or more goes to the kernel. So does one with SS_AUTODISARM, which
 *    programs use that leave a handler by switching stacks; if it is small, the thread is not
 *    sampled from then on.
 *
 * A handler with SA_ONSTACK in a thread that has set no alternate stack runs on the runtime's, too.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include "base/confined.h"
#include "interpose/own.h"
#include "self/self.h"
#include "base/syscall.h"

#define LARGE_STACK (64ul << 10)
#define SAMPLER_ROOM (32ul << 10) /* the handler, under the unwinder of verify mode, needs half */
#define STACK_SIZE (LARGE_STACK + SAMPLER_ROOM)
#define SMALLEST_STACK 2048 /* the kernel's MINSIGSTKSZ */

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static long kernel_altstack(const stack_t *new, stack_t *old)
{
	return raw_syscall2(SYS_sigaltstack, new, old);
}

static bool suffices(const stack_t *s)
{
	return !(s->ss_flags & SS_DISABLE) && s->ss_size >= LARGE_STACK;
}

static bool map_own_stack(struct pcce_thread *t)
{
	char *p;

	if (t->own_stack)
		return true;
	if (is_confined(CONFINED))
		return false;
	p = raw_mmap(NULL, MEMORY_PAGE + STACK_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(p))
		return false;
	raw_syscall3(SYS_mprotect, p, MEMORY_PAGE, PROT_NONE);
	t->own_stack = p + MEMORY_PAGE;
	return true;
}

static bool set_own_stack(struct pcce_thread *t)
{
	stack_t own = {.ss_size = STACK_SIZE};

	if (!map_own_stack(t))
		return false;
	own.ss_sp = t->own_stack;
	if (kernel_altstack(&own, NULL) < 0)
		return false;
	t->own_stack_set = true;
	return true;
}

bool altstack_begin(struct pcce_thread *t)
{
	stack_t now;

	if (t->own_stack_set)
		return true; /* a forked child */
	if (is_confined(CONFINED) || kernel_altstack(NULL, &now) < 0)
		return false;
	t->program_stack = now;
	if (suffices(&now))
		return true;
	/* Not while a handler runs on the stack. */
	return !((unsigned int)now.ss_flags & (SS_ONSTACK | SS_AUTODISARM)) && set_own_stack(t);
}

void altstack_end(struct pcce_thread *t)
{
	if (t->own_stack_set) {
		/* This fails if the thread ends on the stack, which then stays. */
		if (is_confined(CONFINED) || kernel_altstack(&t->program_stack, NULL) < 0)
			return;
		t->own_stack_set = false;
	}
	if (t->own_stack)
		raw_syscall2(SYS_munmap, t->own_stack - MEMORY_PAGE, MEMORY_PAGE + STACK_SIZE);
	t->own_stack = NULL;
}

/* Gives the kernel the program's stack. */
static long hand_over(struct pcce_thread *t, const stack_t *new)
{
	long ret;

	if (new->ss_size < LARGE_STACK) {
		source_disarm(t);
		self_set_flag(PCCE_SELF_NO_STACK);
	}
	ret = kernel_altstack(new, NULL);
	if (ret == 0)
		t->own_stack_set = false;
	return ret;
}

static long set_program_stack(struct pcce_thread *t, const stack_t *new, bool on_stack)
{
	int mode = new->ss_flags &(int)~SS_AUTODISARM;
	long ret = 0;

	if (on_stack)
		return -EPERM;
	if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK)
		return -EINVAL;
	if (mode != SS_DISABLE && new->ss_size < SMALLEST_STACK)
		return -ENOMEM;
	if (mode != SS_DISABLE && (suffices(new) || ((unsigned int)new->ss_flags &SS_AUTODISARM)))
		ret = hand_over(t, new);
	else if (!t->own_stack_set && !set_own_stack(t))
		ret = hand_over(t, new);
	if (ret < 0)
		return ret;
	t->program_stack = *new;
	t->program_stack.ss_flags &= ~SS_ONSTACK;
	if (mode == SS_DISABLE)
		t->program_stack = (stack_t){.ss_flags = SS_DISABLE};
	return 0;
}

static long program_altstack(struct pcce_thread *t, const stack_t *new, stack_t *old)
{
	stack_t before = t->program_stack, now;
	bool on_stack;
	long ret;

	ret = kernel_altstack(NULL, &now);
	if (ret < 0)
		return ret;
	on_stack = now.ss_flags & SS_ONSTACK;
	if (on_stack && !(before.ss_flags & SS_DISABLE))
		before.ss_flags |= SS_ONSTACK;
	ret = new ? set_program_stack(t, new, on_stack) : 0;
	if (ret == 0 && old)
		*old = before;
	return ret;
}

int pcce_own_sigaltstack(const stack_t *new, stack_t *old)
{
	struct pcce_thread *t = pcce_thread_self();
	long ret;

	if (self_state.installed && t->has_stack)
		ret = program_altstack(t, new, old);
	else
		ret = kernel_altstack(new, old);
	if (ret < 0) {
		errno = (int)-ret;
		return -1;
	}
	return 0;
}

PUBLIC_NAME(sigaltstack, sigaltstack);

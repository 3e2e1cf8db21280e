// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Is asked by clone() (clone_stub.S), and by syscall() about clone and clone3 (syscall_stub.S).
 * Such a call may make a task that uses the thread page of its creator: it has the creator's
 * memory (CLONE_VM), and the thread pointer is not another one (CLONE_SETTLS).
 *
 *  - With CLONE_VFORK, the creator waits until the task has ended or has other memory
 *    (clone_stub.S).
 *  - Else both run at the same time, and no page can hold the state of two. The page is made one
 *    that nothing changes any more (PCCE_COUNT_SHARED of abi.h), before the task begins. All
 *    contexts of both are marked. unknown.c says when that ends. The program cannot be given
 *    another thread pointer: it may rely on sharing errno and all else.
 *
 * Tasks that an instruction of the program makes are not seen, nor are those of the C library: it
 * runs no code of the program in them (posix_spawn).
 */
#include <linux/sched.h>
#include <sched.h>
#include <stdarg.h>
#include "internal.h"
#include "interpose/next.h"
#include "base/syscall.h"
#include "stack/unknown.h"

typedef int clone_fn(int (*)(void *), void *, int, void *, ...);
extern clone_fn __clone;

/* clone_stub.S: clone() with all flags but those of vfork(). */
__attribute__((visibility("hidden"))) int pcce_clone(int (*fn)(void *), void *stack, int flags,
						     void *arg, ...);

/* No position of the page. */
#define NOT_SHARED (~0ULL)

/* Does the new task use the creator's page while the creator runs? */
static bool shares_page(uint64_t flags)
{
	return (flags & (CLONE_VM | CLONE_VFORK | CLONE_SETTLS)) == CLONE_VM;
}

/* Returns the position before; NOT_SHARED: the page was shared before. */
static uint64_t share_page(void)
{
	const uint32_t end = PCCE_OFF_FULL - sizeof(struct pcce_entry);
	uint64_t before = *(volatile __u64 *)&pcce_page.position, sp;

	if (page_stays_shared()) {
		/* By which task is not known any more. */
		newest_of_page()->site = PCCE_COUNT_SHARED << PCCE_SITE_BITS;
		return NOT_SHARED;
	}
	sp = (uint64_t)__builtin_frame_address(0);
	if ((pcce_page.off & PCCE_OFF_USED) > end)
		__pcce_segment_room();
	while ((*(volatile __u32 *)&pcce_page.off & PCCE_OFF_USED) < end)
		add_special(0, PCCE_COUNT_FILL << PCCE_SITE_BITS);
	add_special(sp, PCCE_COUNT_SHARED << PCCE_SITE_BITS);
	*(volatile __u32 *)&pcce_page.state |= PCCE_STATE_SHARED;
	*(volatile __u64 *)&pcce_page.counting = 0;
	return before;
}

/* There is no new task. */
static void end_sharing(uint64_t position)
{
	*(volatile __u32 *)&pcce_page.state &= ~PCCE_STATE_SHARED;
	__pcce_segment_return(position);
}

/* ret: the task, or the error of the system call that was to make it. */
static void note_task(uint64_t position, long ret)
{
	if (ret < 0)
		end_sharing(position);
	else
		newest_of_page()->site |= (uint32_t)ret;
}

/* syscall_stub.S: before clone and clone3 that make no child with its own memory. Returns what
 * pcce_after_clone() needs in the creator; NOT_SHARED: it is not called. */
__attribute__((visibility("hidden"))) uint64_t pcce_watch_clone(unsigned long number,
								unsigned long a, unsigned long b)
{
	const struct clone_args *args = (const struct clone_args *)a;
	uint64_t flags = a;

	if (number == SYS_clone3)
		flags = args && b >= CLONE_ARGS_SIZE_VER0 ? args->flags : 0;
	return pcce_active && shares_page(flags) ? share_page() : NOT_SHARED;
}

/* Returns ret. */
__attribute__((visibility("hidden"))) long pcce_after_clone(uint64_t position, long ret)
{
	note_task(position, ret);
	return ret;
}

static int clone_shared(clone_fn *real, int (*fn)(void *), void *stack, int flags, void *arg,
			void *const more[3])
{
	uint64_t before = share_page();
	int ret = real(fn, stack, flags, arg, more[0], more[1], more[2]);

	if (before != NOT_SHARED)
		note_task(before, ret);
	return ret;
}

int pcce_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	static void *found;
	clone_fn *real = (clone_fn *)next_function(&found, NULL, "clone", (void *)__clone);
	void *more[3];
	va_list args;

	/* As many as the C library takes, whether the caller gave them or not. */
	va_start(args, arg);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(args, void *);
	va_end(args);
	if (pcce_active && fn && stack && shares_page((uint32_t)flags))
		return clone_shared(real, fn, stack, flags, arg, more);
	/* The child does not return here, so nothing begins to sample it. */
	if (!(flags & CLONE_VM))
		self_count_unseen();
	return real(fn, stack, flags, arg, more[0], more[1], more[2]);
}

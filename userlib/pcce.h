/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The public interface of the pcce runtime.  A program that was linked with the
 * flags of pcce-config has it without further libraries.
 */
#ifndef PCCE_PCCE_H
#define PCCE_PCCE_H

#pragma GCC system_header

#include <pcce/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls callback(page, arg) for each thread of this process that has an announced
 * page, in no particular order, until one call does not return 0; returns what that
 * call returned, or 0.
 *
 * Nobody is stopped and no lock is taken: threads go on running, beginning and
 * ending meanwhile.  A thread that begins or ends during the walk is either
 * seen or not.  A page that the callback was given stays mapped until the callback
 * returns, and for that the end of its thread waits if it must.  Pages of
 * threads other than the caller change while they are read: treat what they say as
 * possibly torn, except when their thread is known to be stopped.
 *
 * Thread-safe and async-signal-safe: may be called from any thread and any signal
 * handler, also that of a crash.  The callback must not leave by longjmp,
 * exception or thread exit, and must not wait for the end of a thread.
 */
int pcce_threads_walk(int (*callback)(const struct pcce_page *page, void *arg), void *arg);

/*
 * For programs that switch stacks by means of their own: coroutines and fibers other than those of
 * ucontext, which need none of this.  A stack of the program's has an encoding stack of its own,
 *which is kept here while another stack is in use:
 *
 *	pcce_switch_begin(&mine->pcce);
 *	switch_stacks(mine, other);            whatever it is that does it
 *	pcce_switch_end(&mine->pcce);
 *
 * begin says that the calling stack is about to be left, end that it is in use again.  Both are
 *called in the same function, which must be compiled with the plugin.  The function in which a new
 *stack begins calls pcce_switch_end(NULL) before anything else: its contexts begin there.  Before a
 *stack is left for the last time, pcce_switch_begin(NULL) is called on it.  Samples between begin
 *and end are marked (lost_id).  A stack may go on in another thread.
 *
 * The struct belongs to the program, begins as zeros, must stay where it is while its stack is
 *left, and is 1280 bytes large.  One whose stack will never be entered again is given to
 *pcce_switch_forget(), or up to 17 MiB of address space stay reserved if the stack was deep.
 *
 * Async-signal-safe.  Nothing is allocated, nothing fails: a stack whose state could not be kept
 *has marked contexts from then on.  Without the runtime (a program that was not linked with pcce)
 *they do nothing.  A switch copies the entries of at most two segments of the encoding stack each
 *way.
 */
struct pcce_switch {
	__u64 opaque[160];
};

void pcce_stack_leave(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));
void pcce_stack_enter(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));
void pcce_stack_forget(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));

/* No function of their own, at any optimisation level, and no tail call: what they call must find
 * the caller's state.
 */
#define PCCE_INLINE static inline __attribute__((always_inline, unused))

PCCE_INLINE void pcce_switch_begin(struct pcce_switch *mine)
{
	if (pcce_stack_leave)
		pcce_stack_leave(mine);
	__asm__ volatile("" : : : "memory");
}

PCCE_INLINE void pcce_switch_end(struct pcce_switch *mine)
{
	if (pcce_stack_enter)
		pcce_stack_enter(mine);
	__asm__ volatile("" : : : "memory");
}

PCCE_INLINE void pcce_switch_forget(struct pcce_switch *mine)
{
	if (pcce_stack_forget)
		pcce_stack_forget(mine);
}

#undef PCCE_INLINE

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the public interface of the pcce runtime. A program that was linked with the flags of
 * pcce-config has it without further libraries.
 */
#ifndef PCCE_PCCE_H
#define PCCE_PCCE_H

#pragma GCC system_header

#include <pcce/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls callback(page, arg) for each thread of this process that has an announced page, in no
 * particular order, until one call does not return 0. Returns what that call returned, or 0.
 *
 * The walk stops no thread and takes no lock: threads continue to run, begin and end. It may see or
 * miss a thread that begins or ends meanwhile. A page that the callback was given stays mapped
 * until the callback returns; the end of its thread waits if necessary. Pages of threads other than
 * the caller change while the callback reads them. Treat their content as possibly torn, unless
 * their thread is known to be stopped.
 *
 * Thread-safe and async-signal-safe: any thread and any signal handler may call it, also a handler
 * for a crash. The callback must not leave by longjmp, exception or thread exit, and must not wait
 * for the end of a thread.
 */
int pcce_threads_walk(int (*callback)(const struct pcce_page *page, void *arg), void *arg);

/*
 * For programs that switch stacks by other means than ucontext: coroutines and fibers. Contexts of
 * ucontext need none of this. Each stack of such a program has an encoding stack, which is kept in
 * a struct pcce_switch while another stack is in use:
 *
 *	pcce_switch_begin(&mine->pcce);
 *	switch_stacks(mine, other);            whatever does it
 *	pcce_switch_end(&mine->pcce);
 *
 * begin says that the calling stack is about to be left, end that it is in use again. Call both in
 * the same function, which must be compiled with the plugin. The function in which a new stack
 * begins must call pcce_switch_end(NULL) before anything else: its contexts begin there. Before a
 * stack is left for the last time, call pcce_switch_begin(NULL) on it. Samples between begin and
 * end are marked (lost_id). A stack may continue in another thread.
 *
 * The struct belongs to the program, and has 1280 bytes. It must begin as zeros, and stay where it
 * is while its stack is left. If its stack is never entered again, call pcce_switch_forget();
 * otherwise up to 17 MiB of address space stay reserved if the stack was deep.
 *
 * All three are async-signal-safe. They allocate nothing for the program and cannot fail: a stack
 * whose state could not be kept has marked contexts from then on. Without the runtime (a program
 * that was not linked with pcce) they do nothing. A switch copies the entries of at most two
 * segments of the encoding stack each way.
 */
struct pcce_switch {
	__u64 opaque[160];
};

void pcce_stack_leave(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));
void pcce_stack_enter(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));
void pcce_stack_forget(struct pcce_switch *mine) __attribute__((weak, leaf, nothrow));

/* Always inlined, at any optimisation level, and without tail calls: what they call must find the
 * caller's state. */
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

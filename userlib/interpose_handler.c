// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes sigaction and its relatives, so that the program's handlers run on top of a push of
 * the whole interrupted state (signal_entry.S).
 *
 * If the program names a handler, the kernel is given __pcce_signal_entry instead. The program's
 * handler is kept in a table, and sigaction reports it back. Mask and flags stay the program's. A
 * new handler enters the table before the kernel learns of it; one that is removed stays in the
 * table. So a signal at any moment, in any thread, finds a handler that was the right one, or is
 * about to be. The system call itself promises no more.
 *
 * __sigaction is the real function in static programs, which have no RTLD_NEXT, as well as in
 * dynamic ones. The self sampler keeps its handler for its signal, and the program's action for it
 * (self_signal.c).
 *
 * Another sigaction may come between this one and the C library's: that of a sanitizer or of a
 * preloaded library. It gets the program's call unchanged. The handler that it then installs in the
 * kernel is the one that __pcce_signal_entry calls. So the entry is the first to see a signal, and
 * ThreadSanitizer, for example, calls the program's handler when that is safe. Until the entry is
 * installed again, the kernel has the handler without it; meanwhile the calling thread blocks its
 * signals.
 *
 * Handlers that a raw system call installed, or that existed before the runtime, are not seen.
 * Samples in them fail the decoder's checks where the difference can be detected.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include "internal.h"
#include "next.h"
#include "signal_entry.h"
#include "syscall.h"

#define PUBLIC __attribute__((visibility("default")))
#define ALIAS(name) __attribute__((alias(name), visibility("default"), nothrow, leaf))

typedef int sigaction_fn(int sig, const struct sigaction *act, struct sigaction *old);

extern sigaction_fn __sigaction;
extern sigaction_fn __interceptor_sigaction
	/* A sanitizer's sigaction, which may be linked statically. */
	__attribute__((weak));
extern void __pcce_signal_entry(int sig, siginfo_t *info, void *context)
	__attribute__((visibility("hidden")));
extern void __pcce_sampling_entry(int sig, siginfo_t *info, void *context)
	__attribute__((visibility("hidden")));

/* signal_entry.S. sigaction() writes it, and the entry reads it: aligned words, no lock. */
extern void (*volatile __pcce_signal_handlers[NSIG])(int) __attribute__((visibility("hidden")));
_Static_assert(NSIG == SIGNAL_HANDLERS, "signal_entry.S");

/* What siginterrupt() said about a signal, for signal(). */
static volatile bool interrupts[NSIG];

static bool is_handler(void (*handler)(int))
{
	return handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR;
}

/* Returns the next sigaction: the C library's or an interposer's. */
static sigaction_fn *next_sigaction(void)
{
	static void *found;

	return (sigaction_fn *)next_function(&found, (void *)__interceptor_sigaction, "sigaction",
					     (void *)__sigaction);
}

/* Early, since a program may call sigaction() in a handler, where dlsym() is not allowed. */
__attribute__((constructor(101))) static void find_sigaction_early(void)
{
	int saved_errno = errno;

	next_sigaction();
	errno = saved_errno;
}

static int through_interposer(sigaction_fn *interposer, int sig, const struct sigaction *act,
			      struct sigaction *old)
{
	struct sigaction installed;
	void (*handler_before)(int) = __pcce_signal_handlers[sig];
	uint64_t all = ~0ULL, mask;
	int ret;

	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask));
	ret = interposer(sig, act, old);
	if (ret == 0 && act && __sigaction(sig, NULL, &installed) == 0 && self_has_signal(sig)) {
		self_take_back(&installed);
	} else if (ret == 0 && act && __sigaction(sig, NULL, &installed) == 0 &&
		   is_handler(installed.sa_handler) &&
		   installed.sa_sigaction != __pcce_signal_entry) {
		__pcce_signal_handlers[sig] = installed.sa_handler;
		installed.sa_sigaction = __pcce_signal_entry;
		__sigaction(sig, &installed, NULL);
	}
	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	if (ret == 0 && old &&
	    (old->sa_sigaction == __pcce_signal_entry ||
	     old->sa_sigaction == __pcce_sampling_entry))
		old->sa_handler = handler_before;
	return ret;
}

PUBLIC int sigaction(int sig, const struct sigaction *restrict act, struct sigaction *restrict old)
{
	struct sigaction ours, before;
	void (*handler_before)(int);
	int ret;

	if (sig <= 0 || sig >= NSIG)
		return next_sigaction()(sig, act, old);
	if (next_sigaction() != __sigaction)
		return through_interposer(next_sigaction(), sig, act, old);
	if (self_has_signal(sig))
		return self_program_action(act, old);
	handler_before = __pcce_signal_handlers[sig];
	if (act && is_handler(act->sa_handler)) {
		ours = *act;
		ours.sa_sigaction = __pcce_signal_entry;
		if (act->sa_sigaction != __pcce_signal_entry)
			__pcce_signal_handlers[sig] = act->sa_handler;
		act = &ours;
	}
	ret = __sigaction(sig, act, &before);
	if (ret) {
		__pcce_signal_handlers[sig] = handler_before;
		return ret;
	}
	if (old) {
		*old = before;
		if (before.sa_sigaction == __pcce_signal_entry)
			old->sa_handler = handler_before;
	}
	return 0;
}

static void (*set_handler(int sig, void (*handler)(int), int flags, bool masked))(int)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, old;

	if (handler == SIG_ERR || sig <= 0 || sig >= NSIG) {
		errno = EINVAL;
		return SIG_ERR;
	}
	sigemptyset(&act.sa_mask);
	if (masked)
		sigaddset(&act.sa_mask, sig);
	return sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* BSD semantics, glibc's default; SA_RESTART unless siginterrupt(sig, 1) was called. */
PUBLIC void (*signal(int sig, void (*handler)(int)))(int)
{
	bool restart = sig > 0 && sig < NSIG && !interrupts[sig];

	return set_handler(sig, handler, restart ? SA_RESTART : 0, true);
}

void (*bsd_signal(int sig, void (*handler)(int)))(int) ALIAS("signal");
void (*ssignal(int sig, void (*handler)(int)))(int) ALIAS("signal");

/* System V semantics: one shot, not masked. */
PUBLIC void (*__sysv_signal(int sig, void (*handler)(int)))(int)
{
	return set_handler(sig, handler, (int)(SA_RESETHAND | SA_NODEFER | SA_INTERRUPT), false);
}

void (*sysv_signal(int sig, void (*handler)(int)))(int) ALIAS("__sysv_signal");

PUBLIC int siginterrupt(int sig, int interrupt)
{
	struct sigaction act;

	if (sigaction(sig, NULL, &act))
		return -1;
	interrupts[sig] = interrupt;
	if (interrupt)
		act.sa_flags &= ~SA_RESTART;
	else
		act.sa_flags |= SA_RESTART;
	return sigaction(sig, &act, NULL);
}

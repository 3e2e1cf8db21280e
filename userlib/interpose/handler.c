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
 * (self/signal.c).
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
#include <string.h>
#include "base/confined.h"
#include "internal.h"
#include "base/linker_object.h"
#include "interpose/next.h"
#include "interpose/own.h"
#include "interpose/signal_entry.h"
#include "base/syscall.h"

typedef int sigaction_fn(int sig, const struct sigaction *act, struct sigaction *old);

PUBLIC_NAME(sigaction, sigaction);

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
	void *known = (void *)__interceptor_sigaction;

	/* If the public name is another's, that one has called this. */
	if (sigaction != pcce_own_sigaction)
		known = NULL;
	return (sigaction_fn *)next_function(&found, known, "sigaction", (void *)__sigaction);
}

/*
 * The handler that an action names. If another runtime, that of another namespace, has installed
 * its entry (signal_entry.S), the handler is that of the program behind it. An entry returns to the
 * kernel, so no other may call it.
 */
static sighandler_t behind_entry(int sig, sighandler_t handler)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)handler;
	struct found_object o;
	uint32_t mark;
	int32_t handlers;

	if (!is_handler(handler) || code == (const uint8_t *)(uintptr_t)__pcce_signal_entry ||
	    !linker_object_at((uint64_t)code, &o) || o.end - (const char *)code < 14 ||
	    code[0] != 0x0f || code[1] != 0x1f || code[2] != 0x80)
		return handler;
	memcpy(&mark, code + 3, sizeof(mark));
	memcpy(&handlers, code + 10, sizeof(handlers));
	if (mark != SIGNAL_ENTRY_MARK)
		return handler;
	return ((sighandler_t const volatile *)(uintptr_t)(code + handlers))[sig];
}

/* Early, since a program may call sigaction() in a handler, where dlsym() is not allowed. */
__attribute__((constructor(101))) static void find_sigaction_early(void)
{
	int saved_errno = errno;

	next_sigaction();
	linker_object_begin();
	errno = saved_errno;
}

/* The handler that another function has installed in the kernel is entered by the runtime's entry
 * from now on. All signals are blocked. */
static void take_over(int sig)
{
	struct sigaction installed;

	if (__sigaction(sig, NULL, &installed) != 0)
		return;
	if (self_has_signal(sig)) {
		self_take_back(&installed);
	} else if (is_handler(installed.sa_handler) &&
		   installed.sa_sigaction != __pcce_signal_entry) {
		__pcce_signal_handlers[sig] = installed.sa_handler;
		installed.sa_sigaction = __pcce_signal_entry;
		__sigaction(sig, &installed, NULL);
	}
}

/* The program's handler, as far as the runtime knows it. */
static sighandler_t program_handler(int sig)
{
	struct sigaction action;

	if (self_has_signal(sig) && self_program_action(NULL, &action) == 0)
		return action.sa_handler;
	return __pcce_signal_handlers[sig];
}

static bool is_entry(sighandler_t handler)
{
	return (uintptr_t)handler == (uintptr_t)__pcce_signal_entry ||
	       (uintptr_t)handler == (uintptr_t)__pcce_sampling_entry;
}

static int through_interposer(sigaction_fn *interposer, int sig, const struct sigaction *act,
			      struct sigaction *old)
{
	sighandler_t handler_before = program_handler(sig);
	uint64_t all = ~0ULL, mask;
	int ret;

	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask));
	ret = interposer(sig, act, old);
	if (ret == 0 && act)
		take_over(sig);
	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	if (ret == 0 && old && is_entry(old->sa_handler))
		old->sa_handler = handler_before;
	return ret;
}

/* syscall_stub.S: syscall(SYS_rt_sigaction, ...). Both structures begin with the handler. The
 * kernel says whether they can be read and written. */
long pcce_syscall_sigaction(long number, long sig, const void *act, void *old, size_t size);
long pcce_syscall_sigaction(long number, long sig, const void *act, void *old, size_t size)
{
	bool known = sig > 0 && sig < NSIG, block = act && !is_confined(CONFINED);
	sighandler_t handler_before = known ? program_handler((int)sig) : NULL;
	uint64_t all = ~0ULL, mask;
	long ret;

	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask));
	ret = raw_syscall4(number, sig, act, old, size);
	if (ret == 0 && act)
		take_over((int)sig);
	if (block)
		raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	if (ret == 0 && old && is_entry(*(sighandler_t *)old))
		*(sighandler_t *)old = handler_before;
	return ret < 0 ? pcce_syscall_error(ret) : ret;
}

int pcce_own_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
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
			__pcce_signal_handlers[sig] = behind_entry(sig, act->sa_handler);
		act = &ours;
	}
	ret = __sigaction(sig, act, &before);
	if (ret) {
		__pcce_signal_handlers[sig] = handler_before;
		return ret;
	}
	if (old) {
		*old = before;
		old->sa_handler = before.sa_sigaction == __pcce_signal_entry
					  ? handler_before
					  : behind_entry(sig, before.sa_handler);
	}
	return 0;
}

static sighandler_t set_handler(int sig, sighandler_t handler, int flags, bool masked)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = flags}, old;

	if (handler == SIG_ERR || sig <= 0 || sig >= NSIG) {
		errno = EINVAL;
		return SIG_ERR;
	}
	sigemptyset(&act.sa_mask);
	if (masked)
		sigaddset(&act.sa_mask, sig);
	return pcce_own_sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* BSD semantics, glibc's default; SA_RESTART unless siginterrupt(sig, 1) was called. */
sighandler_t pcce_own_signal(int sig, sighandler_t handler)
{
	bool restart = sig > 0 && sig < NSIG && !interrupts[sig];

	return set_handler(sig, handler, restart ? SA_RESTART : 0, true);
}

PUBLIC_NAME(signal, signal);
PUBLIC_NAME(bsd_signal, signal);
PUBLIC_NAME(ssignal, signal);

/* System V semantics: one shot, not masked. */
sighandler_t pcce_own_sysv_signal(int sig, sighandler_t handler)
{
	return set_handler(sig, handler, (int)(SA_RESETHAND | SA_NODEFER | SA_INTERRUPT), false);
}

PUBLIC_NAME(__sysv_signal, sysv_signal);
PUBLIC_NAME(sysv_signal, sysv_signal);

int pcce_own_siginterrupt(int sig, int interrupt)
{
	struct sigaction act;

	if (pcce_own_sigaction(sig, NULL, &act))
		return -1;
	interrupts[sig] = interrupt;
	if (interrupt)
		act.sa_flags &= ~SA_RESTART;
	else
		act.sa_flags |= SA_RESTART;
	return pcce_own_sigaction(sig, &act, NULL);
}

PUBLIC_NAME(siginterrupt, siginterrupt);

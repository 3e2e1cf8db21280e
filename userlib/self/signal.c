// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shares the sampling signal between the self sampler and the program.
 *
 * The signal is SIGWINCH, or what pcce-record --signal says. Any signal may be pending while the
 * program is in execve(); the new image then starts with that signal and the default action. So the
 * default is a signal that is ignored by default. Of these, SIGWINCH comes only from a terminal;
 * PostgreSQL and Go use SIGURG all the time, and SIGCHLD is used everywhere.
 *
 * The kernel has one handler for the signal, __pcce_sampling_entry (sampling_entry.S), as long as
 * the process lives. It asks self_on_signal() whose signal it is. A signal of the thread's source
 * makes a sample; siginfo tells (source.c). All others are the program's, and do what they
 * would do without a sampler:
 *
 *  - sigaction() and signal() show and change the program's action, which is kept here. The
 *    program's handler runs with its own mask. It runs on the runtime's alternate stack.
 *  - A program that blocks the signal believes that it is blocked, but the kernel lets it through,
 *    so that such threads are sampled. If the program is sent one meanwhile, the thread blocks it
 *    really, and the signal is sent again: it is pending then, as it should be, for sigwait(),
 *    signalfd() and the like. The thread's source is off until the program changes its mask again.
 *  - sigsuspend(), ppoll() and their kin unblock the signal for one call. The frame then shows that
 *    the thread blocks it really: the program wants its handler to run.
 *
 * What the program can see: the first sigsuspend() or ppoll() after the signal may end with EINTR
 * before the handler has run. If another thread than the main one was sent the signal, its siginfo
 * names the program as the sender. A signal that the program ignores ends poll() with EINTR. The
 * mask in a handler's ucontext, and the mask that exec passes on, do not block the signal.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "base/confined.h"
#include "self/self.h"
#include "interpose/signal_entry.h"
#include "base/syscall.h"

extern int __sigaction(int, const struct sigaction *, struct sigaction *);
extern void __pcce_signal_entry(int sig, siginfo_t *info, void *context)
	__attribute__((visibility("hidden")));
extern void (*volatile __pcce_signal_handlers[NSIG])(int) __attribute__((visibility("hidden")));
/* sampling_entry.S calls it. Returns true if the program's handler is to run. */
bool self_on_signal(int sig, siginfo_t *info, void *context) __attribute__((visibility("hidden")));

/* The program's action. If it has a handler, __pcce_signal_handlers has it, too; a handler that was
 * reset stays there. */
static struct sigaction program_action;
/* The kernel's handler. */
static self_entry_fn *sampling_entry;

static uint64_t signal_bit(void)
{
	return 1ULL << (self_state.signal - 1);
}

static bool is_ignored_by_default(int sig)
{
	return sig == SIGWINCH || sig == SIGURG || sig == SIGCHLD || sig == SIGCONT;
}

/* ---- in the handler --------------------------------------------------------------- */

/* Sends the signal to the program again. It stays pending until the handler has returned. Only the
 * main thread may repeat what another process, or the kernel, has sent; others send it as their
 * own. */
static void send_again(const struct pcce_thread *t, int sig, siginfo_t *info)
{
	if (info->si_code == SI_TKILL)
		raw_syscall4(SYS_rt_tgsigqueueinfo, self_state.pid, t->page->tid, sig, info);
	else if (raw_syscall3(SYS_rt_sigqueueinfo, self_state.pid, sig, info) < 0)
		raw_syscall2(SYS_kill, self_state.pid, sig);
}

/* Makes the kernel block the signal from the handler's return on, and leaves none of ours pending,
 * which the program would take for one of its own. */
static void block_really(struct pcce_thread *t, int sig, siginfo_t *info, ucontext_t *uc)
{
	const struct timespec now = {0};
	uint64_t set = signal_bit();
	siginfo_t pending;

	if (is_confined(CONFINED))
		return; /* it is lost, rather than that a system call kills the program */
	t->paused = t->sampled;
	source_disarm(t);
	*(uint64_t *)&uc->uc_sigmask |= set;
	if (raw_syscall4(SYS_rt_sigtimedwait, &set, &pending, &now, sizeof(set)) == sig &&
	    !source_sent(t, &pending))
		send_again(t, sig, &pending);
	send_again(t, sig, info);
	self_set_flag(PCCE_SELF_SIGNAL_TAKEN);
}

static void do_default(const struct pcce_thread *t, int sig, siginfo_t *info)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	if (is_ignored_by_default(sig))
		return;
	__sigaction(sig, &action, NULL);
	send_again(t, sig, info);
}

/* A signal that the program was sent. Returns true if its handler is to run now. */
static bool pass_on(struct pcce_thread *t, int sig, siginfo_t *info, ucontext_t *uc)
{
	void (*handler)(int) = program_action.sa_handler;
	uint64_t mask = *(uint64_t *)&uc->uc_sigmask;

	if (t->masks_signal && !(mask & signal_bit())) {
		block_really(t, sig, info, uc);
		return false;
	}
	if (handler == SIG_IGN)
		return false;
	if (handler == SIG_DFL) {
		do_default(t, sig, info);
		return false;
	}
	if (program_action.sa_flags & (int)SA_RESETHAND)
		program_action.sa_handler = SIG_DFL;
	mask |= *(uint64_t *)&program_action.sa_mask;
	if (!(program_action.sa_flags & SA_NODEFER))
		mask |= signal_bit();
	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return true;
}

static void take_sample(struct pcce_thread *t, siginfo_t *info, ucontext_t *uc)
{
	uint64_t start = 0, end;
	uint32_t weight;

	if (!t->sampled || t->in_handler)
		return;
	if (!self_state.active || __atomic_load_n(&self_state.ring.head->stop, __ATOMIC_RELAXED)) {
		source_disarm(t);
		return;
	}
	weight = source_take_periods(t, info);
	if (!weight)
		return;
	/* To unwind a deep stack may take longer than a period. The program gets as much time as
	 * the last sample took; otherwise it would make no progress. */
	if (self_state.unwind) {
		start = self_now();
		if (start < t->quiet_until) {
			t->skipped += weight;
			return;
		}
		weight += t->skipped;
		t->skipped = 0;
	}
	t->in_handler = true;
	self_sample(t, uc, weight);
	t->in_handler = false;
	if (self_state.unwind) {
		end = self_now();
		t->quiet_until = end + (end - start);
	}
}

bool self_on_signal(int sig, siginfo_t *info, void *context)
{
	struct pcce_thread *t = pcce_thread_self();
	int saved_errno = errno; /* the unwinder of verify mode may change errno */
	bool runs = false;

	if (source_sent(t, info))
		take_sample(t, info, context);
	else
		runs = pass_on(t, sig, info, context);
	errno = saved_errno;
	return runs;
}

/* ---- the program's view ------------------------------------------------------------- */

/* The kernel's action. The program's handlers wait, except those of signals that an instruction
 * raises. Calls restart, unless the program has a handler that wants them to end. */
static int set_kernel_action(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	void (*handler)(int) = program_action.sa_handler;

	if (handler == SIG_DFL || handler == SIG_IGN || (program_action.sa_flags & SA_RESTART))
		action.sa_flags |= SA_RESTART;
	action.sa_sigaction = sampling_entry;
	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGSEGV);
	sigdelset(&action.sa_mask, SIGBUS);
	sigdelset(&action.sa_mask, SIGILL);
	sigdelset(&action.sa_mask, SIGFPE);
	sigdelset(&action.sa_mask, SIGTRAP);
	sigdelset(&action.sa_mask, SIGABRT);
	return __sigaction(self_state.signal, &action, NULL);
}

static void keep_action(const struct sigaction *action)
{
	void (*handler)(int) = action->sa_handler;

	if (action->sa_sigaction == __pcce_signal_entry || action->sa_sigaction == sampling_entry)
		handler = __pcce_signal_handlers[self_state.signal];
	if (handler != SIG_DFL && handler != SIG_IGN)
		__pcce_signal_handlers[self_state.signal] = handler;
	program_action = *action;
	program_action.sa_handler = handler;
}

bool signal_install(self_entry_fn *entry)
{
	struct sigaction before;

	sampling_entry = entry;

	if (__sigaction(self_state.signal, NULL, &before) != 0)
		return false;
	keep_action(&before);
	if (set_kernel_action() != 0)
		return false;
	self_state.installed = true;
	return true;
}

int self_take_back(const struct sigaction *installed)
{
	keep_action(installed);
	return set_kernel_action();
}

bool self_has_signal(int sig)
{
	return self_state.installed && sig == self_state.signal;
}

int self_program_action(const struct sigaction *new, struct sigaction *old)
{
	struct sigaction before = program_action;

	if (new) {
		keep_action(new);
		if (set_kernel_action() != 0)
			return -1;
	}
	if (old)
		*old = before;
	return 0;
}

uint64_t self_filter_mask(int how, uint64_t set, bool *was_masked)
{
	struct pcce_thread *t = pcce_thread_self();
	uint64_t ours = self_state.installed ? signal_bit() : 0;

	*was_masked = t->masks_signal;
	/* The unwinder blocks signals around its locks. */
	if (!ours || t->in_handler)
		return set;
	if (how == SIG_UNBLOCK) {
		if (set & ours)
			t->masks_signal = false;
		return set;
	}
	if (how == SIG_SETMASK || (set & ours))
		t->masks_signal = set & ours;
	return set & ~ours;
}

void self_mask_changed(void)
{
	struct pcce_thread *t = pcce_thread_self();

	if (!t->paused || t->in_handler || !self_state.active)
		return;
	t->paused = false;
	source_arm(t);
}

uint64_t self_signal_bit(void)
{
	return signal_bit();
}

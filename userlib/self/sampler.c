// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Samples the process itself: each thread gets a signal at a fixed interval of its CPU time, and
 * the handler copies the thread's context to the ring.
 *
 * It is inactive unless PCCE_SELF is set, which pcce-record does; include/pcce/selfring.h has the
 * format. self.h lists the parts. This one connects them with the life of processes and threads.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include "base/confined.h"
#include "self/self.h"
#include "base/syscall.h"

extern self_entry_fn __pcce_sampling_entry __attribute__((visibility("hidden")));

static void name_thread(char name[16])
{
	memset(name, 0, 16);
	if (!is_confined(CONFINED))
		raw_syscall2(SYS_prctl, PR_GET_NAME, name);
}

/* forked_by: 0 without PCCE_PROCESS_FORK. It may have ended, and the process has another parent. */
static void report_process(uint32_t flags, uint32_t forked_by)
{
	struct pcce_self_process *p = ring_reserve(&self_state.ring, sizeof(*p), PCCE_SELF_PROCESS);

	if (!p)
		return;
	p->time = self_now();
	p->pid = self_state.pid;
	p->ppid = is_confined(CONFINED) ? 0 : (uint32_t)raw_syscall0(SYS_getppid);
	if (p->ppid && forked_by) /* 0: in another pid namespace */
		p->ppid = forked_by;
	p->flags = flags;
	p->reserved = 0;
	p->pad = 0;
	name_thread(p->comm);
	ring_commit(&self_state.ring, p);
}

static void report_thread(uint32_t tid)
{
	struct pcce_self_thread *p = ring_reserve(&self_state.ring, sizeof(*p), PCCE_SELF_THREAD);

	if (!p)
		return;
	p->time = self_now();
	p->pid = self_state.pid;
	p->tid = tid;
	name_thread(p->comm);
	ring_commit(&self_state.ring, p);
}

/* The kernel lets the signal through in this thread, whatever the program believes. */
static void open_signal(struct pcce_thread *t)
{
	uint64_t set = self_signal_bit(), before = 0;

	raw_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, &before, sizeof(set));
	if (before & set)
		t->masks_signal = true;
}

void self_thread_begin(struct pcce_thread *t)
{
	if (!self_state.active)
		return;
	if (is_confined(CONFINED)) {
		self_set_flag(PCCE_SELF_CONFINED);
		return;
	}
	report_thread(t->page->tid);
	self_sample_thread_begin(t);
	if (self_state.allocations) {
		t->serial = __atomic_add_fetch(&self_state.threads, 1, __ATOMIC_RELAXED);
		return;
	}
	t->has_stack = altstack_begin(t);
	if (!t->has_stack) {
		self_set_flag(PCCE_SELF_NO_STACK);
		return;
	}
	open_signal(t);
	source_arm(t);
}

void self_thread_end(struct pcce_thread *t)
{
	bool was_sampled = t->sampled || t->serial;

	t->paused = false;
	source_disarm(t);
	self_sample_thread_end(t);
	if (t->has_stack)
		altstack_end(t);
	t->has_stack = false;
	if (self_state.active && was_sampled && !is_confined(CONFINED))
		report_thread(t->page->tid); /* its name may have changed */
}

/* A forked child inherits neither POSIX timers nor the perf event's mapping, so it arms its thread
 * again. */
void self_after_fork(struct pcce_thread *t, bool raw)
{
	struct ring parent = self_state.ring, own = {0};
	uint32_t forked_by = self_state.pid;
	bool parents_is_used;

	if (!self_state.active)
		return;
	t->sampled = false;
	t->sent = 0;
	if (is_confined(CONFINED)) {
		self_state.active = false;
		self_set_flag(PCCE_SELF_CONFINED);
		return;
	}
	if (raw && self_state.unwind) {
		/* Another thread may have held the unwinder's locks. */
		self_state.unwind = NULL;
		self_set_flag(PCCE_SELF_NO_UNWINDER);
	}
	parents_is_used = self_state.after_fork && self_state.after_fork();
	self_state.pid = (uint32_t)raw_syscall0(SYS_getpid);
	if (ring_open(&own, self_state.directory, self_state.ring_size, self_state.n_counters,
		      self_now(), self_state.pid) == 0) {
		own.head->flags |= parent.head->flags & (PCCE_SELF_HOOKED | PCCE_SELF_NEW_UNSEEN |
							 PCCE_SELF_LIVE_UNKNOWN);
		self_state.ring = own;
		if (!parents_is_used)
			ring_close(&parent);
	}
	/* Otherwise privileges were dropped, the root directory changed, or there is no room: both
	 * use the parent's ring. */
	report_process(PCCE_PROCESS_FORK, forked_by);
	modules_after_fork();
	report_thread(t->page->tid);
	if (t->has_stack && !__atomic_load_n(&self_state.ring.head->stop, __ATOMIC_RELAXED))
		source_arm(t);
}

/* Threads disarm themselves at their next signal. */
static void end_sampling(uint32_t reason)
{
	if (!self_state.active)
		return;
	self_state.active = false;
	self_set_flag(reason);
}

/* The program is about to make it fatal to read the clock. */
void self_clock_forbidden(void)
{
	end_sampling(PCCE_SELF_NO_CLOCK);
}

static void disarm_visited(struct pcce_thread *t, void *arg)
{
	(void)arg;
	source_disarm(t);
}

/* The program is about to install a filter that kills at the return from a handler. No signal may
 * come from then on, so all sources go while that is still allowed. */
void self_forbidden(void)
{
	if (!self_state.active)
		return;
	end_sampling(PCCE_SELF_NO_SIGNALS);
	registry_each(disarm_visited, NULL);
}

void self_start(void)
{
	int ret;

	if (!self_state_read())
		return;
	local_clock_start();
	ret = ring_open(&self_state.ring, self_state.directory, self_state.ring_size,
			self_state.n_counters, self_now(), self_state.pid);
	if (ret < 0) {
		pcce_debug("cannot make a ring for the self sampler:", ret);
		return;
	}
	self_sample_begin();
	report_process(PCCE_PROCESS_EXEC, 0);
	if (!modules_begin())
		self_set_flag(PCCE_SELF_NO_MAPS);
	if (!self_state.allocations && !signal_install(__pcce_sampling_entry)) {
		self_set_flag(PCCE_SELF_SIGNAL_TAKEN);
		return;
	}
	self_state.active = true;
}

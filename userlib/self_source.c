// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sends the sampling signal to each thread at a fixed interval of its CPU time.
 *
 * There are two sources, tried in this order:
 *
 *   perf    perf_event_open() on cpu-clock, which sends the signal at each overflow.  Precise up to
 *           100 kHz. A mapping of the event's first page keeps the event alive, and the descriptor
 *           is closed at once. So it does not get in the program's way, and a program that closes
 *           all descriptors does not end the event. fork does not copy the mapping.
 *   timer   timer_create() on the thread's CPU clock.  Works under perf_event_paranoid 4, and in
 *           containers that refuse perf_event_open.  Linux looks at such timers only at clock
 *           ticks; a sample's weight is the number of periods that have passed.
 *
 * A signal that arrives during a system call would end calls such as poll() with EINTR, and one
 * that arrives during execve() would reach the next program. So the perf event counts only while
 * the thread runs in user space, and the signal is there before the next instruction. Time in the
 * kernel has no samples; pcce-record says how much that is. The timer also runs in the kernel, but
 * since Linux 5.11 it sends the signal only when a call returns.
 *
 * Once the program has confined itself, neither can be created or removed. A source that is armed
 * then stays armed until its thread ends.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include "confined.h"
#include "self.h"
#include "syscall.h"

void source_disarm(struct pcce_thread *t)
{
	if (!t->sampled)
		return;
	t->sampled = false;
	if (is_confined(CONFINED))
		return;
	if (t->has_timer)
		raw_syscall1(SYS_timer_delete, t->timer);
	else
		raw_syscall2(SYS_munmap, t->perf_page, MEMORY_PAGE);
}

bool source_sent(const struct pcce_thread *t, const siginfo_t *info)
{
	if (!t->had_source)
		return false;
	if (t->has_timer)
		return info->si_code == SI_TIMER && info->si_timerid == t->timer;
	return info->si_code == POLL_IN && info->si_fd == t->perf_fd;
}

static bool arm_perf(struct pcce_thread *t)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = self_state.want_task_clock ? PERF_COUNT_SW_TASK_CLOCK
						     : PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = self_state.interval,
		.disabled = 1,
		.exclude_hv = 1,
		.exclude_kernel = 1,
		.wakeup_events = 1,
	};
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)t->page->tid};
	void *page;
	long fd;

	fd = raw_syscall5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		pcce_debug("cannot open a perf event:", fd);
		return false;
	}
	page = raw_mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (raw_failed(page) || raw_syscall3(SYS_fcntl, fd, F_SETSIG, self_state.signal) < 0 ||
	    raw_syscall3(SYS_fcntl, fd, F_SETOWN_EX, &owner) < 0 ||
	    raw_syscall3(SYS_fcntl, fd, F_SETFL, O_RDWR | O_ASYNC | O_NONBLOCK) < 0) {
		if (!raw_failed(page))
			raw_syscall2(SYS_munmap, page, MEMORY_PAGE);
		raw_syscall1(SYS_close, fd);
		return false;
	}
	t->has_timer = false;
	t->perf_fd = (int)fd;
	t->perf_page = page;
	t->had_source = true;
	t->sampled = true;
	self_set_flag(PCCE_SELF_USER_ONLY);
	raw_syscall3(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	raw_syscall1(SYS_close, fd);
	return true;
}

static bool arm_timer(struct pcce_thread *t)
{
	struct itimerspec spec = {
		.it_interval = {.tv_sec = (time_t)(self_state.interval / 1000000000),
				.tv_nsec = (long)(self_state.interval % 1000000000)},
	};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = self_state.signal};
	int timer;

	spec.it_value = spec.it_interval;
	event._sigev_un._tid = (pid_t)t->page->tid;
	if (raw_syscall3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0)
		return false;
	t->has_timer = true;
	t->timer = timer;
	t->had_source = true;
	t->sampled = true;
	if (raw_syscall4(SYS_timer_settime, timer, 0, &spec, NULL) < 0) {
		source_disarm(t);
		return false;
	}
	self_set_flag(PCCE_SELF_TIMER);
	return true;
}

void source_arm(struct pcce_thread *t)
{
	if (t->sampled)
		return;
	if (is_confined(CONFINED)) {
		self_set_flag(PCCE_SELF_CONFINED);
		return;
	}
	if ((!self_state.want_timer && arm_perf(t)) || arm_timer(t))
		return;
	self_set_flag(PCCE_SELF_NO_SOURCE);
}

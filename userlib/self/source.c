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
 * Counts. Each overflow of the perf event leaves a record in its buffer, the log: one page after
 * the first one, which the handler reads without a system call. So a sample's weight is the number
 * of overflows since the last one, also of those whose signals merged. Each record has the CPU time
 * up to the overflow. It shows the periods that ended in the kernel, where the event does not
 * overflow. If the kernel permits no log (its limit of locked memory), one signal counts as one
 * period, and the number of samples that were due is not known.
 *
 * Once the program has confined itself, neither can be created or removed. A source that is armed
 * then stays armed until its thread ends.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include "base/confined.h"
#include "self/self.h"
#include "base/syscall.h"

#define LOG_BYTES MEMORY_PAGE
#define LOG_ROOM 64 /* more than the kernel needs to add a record, or that records were lost */

struct log_counts {
	uint64_t overflows, throttled;
	uint64_t periods; /* of CPU time, since the event exists */
};

static bool has_log(const struct pcce_thread *t)
{
	return !t->has_timer && t->perf_bytes > MEMORY_PAGE;
}

static uint64_t log_word(const struct pcce_thread *t, uint64_t at)
{
	const char *data = (const char *)t->perf_page + MEMORY_PAGE;

	return *(const volatile uint64_t *)(data + (at & (LOG_BYTES - 1) & ~7ULL));
}

/* Adds a sample's record: the header, and the CPU time. */
static void see_overflow(struct pcce_thread *t, struct log_counts *c, uint64_t cpu_time)
{
	uint64_t periods = cpu_time / self_state.interval;

	if (t->throttled && periods > c->periods + 1)
		c->throttled += periods - c->periods - 1;
	t->throttled = false;
	if (periods > c->periods)
		c->periods = periods;
	c->overflows++;
}

/* Takes all records from the log. The program can write to it, so nothing in it is trusted. */
static struct log_counts read_log(struct pcce_thread *t)
{
	struct perf_event_mmap_page *page = t->perf_page;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;
	struct log_counts c = {.periods = t->due};

	while (at < head && head - at <= LOG_BYTES) {
		uint64_t header = log_word(t, at), size = header >> 48;

		if (size < sizeof(struct perf_event_header) || size > head - at)
			break;
		if ((uint32_t)header == PERF_RECORD_SAMPLE)
			see_overflow(t, &c, log_word(t, at + 8));
		else if ((uint32_t)header == PERF_RECORD_THROTTLE)
			t->throttled = true;
		else if ((uint32_t)header == PERF_RECORD_LOST) /* there was no room in the log */
			c.overflows += log_word(t, at + 16);
		at += size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return c;
}

static uint64_t count_log(struct pcce_thread *t)
{
	struct log_counts c = read_log(t);
	uint64_t due = c.periods - t->due, elsewhere;

	if (due < c.overflows + c.throttled)
		due = c.overflows + c.throttled;
	elsewhere = due - c.overflows - c.throttled;
	t->due += due;
	if (due)
		self_count_due(due, elsewhere, c.throttled);
	return c.overflows;
}

static bool is_stopped(void)
{
	return !self_state.active || __atomic_load_n(&self_state.ring.head->stop, __ATOMIC_RELAXED);
}

uint32_t source_take_periods(struct pcce_thread *t, const siginfo_t *info)
{
	uint64_t n = 1;

	if (has_log(t))
		n = count_log(t);
	else if (t->has_timer && info->si_overrun > 0)
		n += (uint64_t)info->si_overrun;
	if (!has_log(t))
		self_count_due(n, 0, 0);
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static uint64_t cpu_time(void)
{
	struct timespec ts;

	if (raw_syscall2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The overflows since the thread's last sample are due, too. Their signals did not arrive: the C
 * library blocks all signals when a thread ends. If the log is full, overflows that it has no room
 * for are known from the thread's CPU time alone. */
static void count_rest(struct pcce_thread *t)
{
	const struct perf_event_mmap_page *page = t->perf_page;
	uint64_t n, now, periods = 0;
	bool is_full;

	if (!has_log(t) || is_stopped())
		return;
	is_full = page->data_head - page->data_tail > LOG_BYTES - LOG_ROOM;
	n = count_log(t);
	now = is_full && !is_confined(CONFINED) ? cpu_time() : 0;
	if (now > t->armed_at)
		periods = (now - t->armed_at) / self_state.interval;
	if (periods > t->due) {
		self_count_due(periods - t->due, 0, 0);
		n += periods - t->due;
		t->due = periods;
	}
	if (n)
		__atomic_add_fetch(&self_state.ring.head->blocked, n, __ATOMIC_RELAXED);
}

void source_disarm(struct pcce_thread *t)
{
	if (!t->sampled)
		return;
	t->sampled = false;
	count_rest(t);
	if (is_confined(CONFINED))
		return;
	if (t->has_timer)
		raw_syscall1(SYS_timer_delete, t->timer);
	else
		raw_syscall2(SYS_munmap, t->perf_page, t->perf_bytes);
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
		.sample_type = PERF_SAMPLE_READ,
		.disabled = 1,
		.exclude_hv = 1,
		.exclude_kernel = 1,
		.wakeup_events = 1,
	};
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)t->page->tid};
	size_t bytes = MEMORY_PAGE + LOG_BYTES;
	void *page;
	long fd;

	fd = raw_syscall5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		pcce_debug("cannot open a perf event:", fd);
		return false;
	}
	page = raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (raw_failed(page)) {
		bytes = MEMORY_PAGE;
		page = raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	}
	if (raw_failed(page) || raw_syscall3(SYS_fcntl, fd, F_SETSIG, self_state.signal) < 0 ||
	    raw_syscall3(SYS_fcntl, fd, F_SETOWN_EX, &owner) < 0 ||
	    raw_syscall3(SYS_fcntl, fd, F_SETFL, O_RDWR | O_ASYNC | O_NONBLOCK) < 0) {
		if (!raw_failed(page))
			raw_syscall2(SYS_munmap, page, bytes);
		raw_syscall1(SYS_close, fd);
		return false;
	}
	t->has_timer = false;
	t->perf_fd = (int)fd;
	t->perf_page = page;
	t->perf_bytes = (uint32_t)bytes;
	t->throttled = false;
	t->due = 0;
	t->armed_at = cpu_time();
	t->had_source = true;
	t->sampled = true;
	self_set_flag(PCCE_SELF_USER_ONLY |
		      (bytes > MEMORY_PAGE ? PCCE_SELF_COUNTED : PCCE_SELF_UNCOUNTED));
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
	self_set_flag(PCCE_SELF_TIMER | PCCE_SELF_COUNTED);
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

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Samples the process itself: each thread gets a signal at a fixed interval of its CPU time, and
 * the handler copies the thread's context to the ring (self_ring.c).
 *
 * It is inactive unless PCCE_SELF is set, which pcce-record does; include/pcce/selfring.h has the
 * format. A set-uid program ignores the variable.
 *
 * It tries two sources for each thread, in this order:
 *
 *   perf    perf_event_open() on cpu-clock, which sends the signal at each overflow.  Precise up to
 *           100 kHz. If the kernel does not allow to count kernel time, it counts only user time. A
 *           mapping of the event's first page keeps the event alive, and the descriptor is closed
 *           at once. So it does not get in the program's way, and a program that closes all
 *           descriptors does not end the event. fork does not copy the mapping.
 *   timer   timer_create() on the thread's CPU clock.  Works under perf_event_paranoid 4, and in
 *           containers that refuse perf_event_open.  Linux looks at such timers only at clock
 *           ticks; a sample's weight is the number of periods that have passed.
 *
 * The signal is SIGURG. Any signal may be pending while the program is in execve(); the new image
 * then starts with that signal and the default action. If the default is to die, the signal would
 * kill it, at high rates nearly always. So the signal must be one that is ignored by default, which
 * no real-time signal is. Of the signals that are, SIGURG is the one that programs use least.
 * Unlike real-time signals, it is not queued: a program that blocks it for long only loses samples.
 * Sockets send SIGURG with another si_code; the handler ignores it, as the default action did. When
 * the program installs a handler for SIGURG, sampling ends with a mark in the ring.
 *
 * The program can see one effect. SA_RESTART restarts interrupted calls, and a CPU-time clock does
 * not run while a thread sleeps. But some calls are never restarted (poll, nanosleep and others,
 * see signal(7)). They return EINTR if a signal comes just when they are about to sleep.
 *
 * The handler takes no lock, allocates nothing and makes no system call. The exception is one scan
 * of the mappings when code appears at an unknown address (self_maps.c).
 */
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>
#include "self.h"
#include "syscall.h"

#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void *)0)
#endif

extern void *dlsym(void *, const char *) __attribute__((weak));
extern int __pthread_create(void) __attribute__((weak));
extern int __sigaction(int, const struct sigaction *, struct sigaction *);

int self_signal = SIGURG;

static bool active;
static struct ring ring;
static char directory[PATH_MAX];
static uint64_t interval;
static uint64_t ring_size;
static bool want_verify, want_task_clock, want_timer;
static uint32_t self_pid;
static verify_unwind_fn *unwind;
/* The executable's entry point: the main thread's outermost frame is there. */
static uint64_t entry_point;

static uint64_t self_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* vdso: no system call */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

bool self_active(void)
{
	return active;
}

static void set_flag(uint32_t flag)
{
	__atomic_or_fetch(&ring.head->flags, flag, __ATOMIC_RELAXED);
}

/* ---- the sample ----------------------------------------------------------------- */

/* The parts of the encoding stack that a sample gets: the current segment, and the unsent ones
 * below it. */
struct gathered {
	const struct pcce_entry *entries;
	unsigned int n_entries, n_below, n_segments, n_stored;
	const struct pcce_segment *stored; /* the first n_stored of n_segments */
	const struct pcce_entry
		/* The last of the n_segments (base and entries), or NULL. */
		*kept;
	uint64_t below, sent;
	uint32_t flags;
};

static void gather_stack(struct gathered *g, uint64_t sent)
{
	const struct pcce_page *page = &pcce_page;
	uint32_t half = page->off & PCCE_OFF_HALF, used = page->off & PCCE_OFF_USED, from;
	const struct pcce_segment *area =
		(const struct pcce_segment *)(uintptr_t)PCCE_AREA_ADDRESS(page->area);
	const struct pcce_entry *bases = &page->base;

	*g = (struct gathered){.sent = sent};
	if ((page->off & ~(uint32_t)PCCE_OFF_HALF) > PCCE_OFF_FULL) {
		g->flags = PCCE_SAMPLE_READ_FAULT; /* an impossible off */
		return;
	}
	g->entries = bases + half / sizeof(*bases) + 1;
	g->n_entries = used / sizeof(*bases);
	g->n_below = page->place >> PCCE_PLACE_SHIFT;
	if (!g->n_below)
		return;
	g->below = g->entries[-1].id;
	if ((int64_t)(g->below - sent) <= 0)
		return;
	if ((page->place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT)
		g->kept = bases + (half ^ PCCE_OFF_HALF) / sizeof(*bases);
	/* Some have no place. */
	if (g->n_below - (g->kept != NULL) > PCCE_AREA_CAPACITY(page->area))
		area = NULL;
	if (!area && !g->kept) {
		g->kept = NULL;
		g->flags = PCCE_SAMPLE_TRUNCATED;
		return;
	}
	for (from = g->n_below - 1; area && from && (int64_t)(area[from - 1].generation - sent) > 0;
	     from--)
		;
	g->stored = area + from;
	g->n_segments = g->n_below - from;
	if (g->n_segments > PCCE_SAMPLE_SEGMENTS) {
		/* The next samples carry the rest. */
		g->n_segments = PCCE_SAMPLE_SEGMENTS;
		g->kept = NULL;
		g->flags = PCCE_SAMPLE_TRUNCATED;
	}
	g->n_stored = g->n_segments - (g->kept != NULL);
	g->sent = g->kept ? g->below : g->stored[g->n_stored - 1].generation;
}

static bool sites_are_known(const struct gathered *g)
{
	for (unsigned int i = 0; i < g->n_stored; i++)
		if (!maps_know_sites(g->stored[i].entry, PCCE_SEGMENT_ENTRIES))
			return false;
	return (!g->kept || maps_know_sites(g->kept + 1, PCCE_SEGMENT_ENTRIES)) &&
	       maps_know_sites(g->entries, g->n_entries);
}

static void write_stack(const struct gathered *g, void *to, const uint64_t *stack, size_t n_stack)
{
	struct pcce_entry *entries = to;
	struct pcce_segment *segments;

	if (g->n_entries)
		memcpy(entries, g->entries, g->n_entries * sizeof(*entries));
	segments = (struct pcce_segment *)(entries + g->n_entries);
	if (g->n_stored)
		memcpy(segments, g->stored, g->n_stored * sizeof(*segments));
	segments += g->n_stored;
	if (g->kept) {
		segments->generation = g->below;
		segments->index = g->n_below - 1;
		memcpy(&segments->base, g->kept, (PCCE_SEGMENT_ENTRIES + 1) * sizeof(*entries));
		segments++;
	}
	if (n_stack)
		memcpy(segments, stack, n_stack * sizeof(*stack));
}

static bool is_outermost(const struct pcce_thread *t, uint64_t pc)
{
	return pc == t->outermost || (pc >= entry_point && pc < entry_point + 64);
}

extern char __pcce_signal_entry[] __attribute__((visibility("hidden")));

/* Returns the context of the code that is meant. Both signals may be pending, as after each raise()
 * in which the period ended. Then the sampling signal arrives where a handler of the program is
 * about to begin, and the code that both interrupt is meant. That handler has done nothing yet. */
static ucontext_t *interrupted_code(ucontext_t *uc)
{
	if (uc->uc_mcontext.gregs[REG_RIP] == (greg_t)__pcce_signal_entry)
		uc = (ucontext_t *)uc->uc_mcontext.gregs[REG_RDX];
	return uc;
}

/* The ring is full, because the recorder is slow or gone. */
static void count_lost_sample(uint64_t now)
{
	uint64_t read_at = __atomic_load_n(&ring.head->read_at, __ATOMIC_RELAXED);

	__atomic_add_fetch(&ring.head->lost, 1, __ATOMIC_RELAXED);
	if (!read_at)
		read_at = ring.head->start_time;
	if (now > read_at && now - read_at > PCCE_SELF_PATIENCE) {
		set_flag(PCCE_SELF_GAVE_UP);
		__atomic_store_n(&ring.head->stop, 1, __ATOMIC_RELAXED);
	}
}

static void signal_sample(struct pcce_thread *t, ucontext_t *uc, uint32_t weight)
{
	const greg_t *regs = uc->uc_mcontext.gregs;
	const struct pcce_page *page = &pcce_page;
	struct pcce_self_sample *s;
	struct gathered g;
	uint32_t flags;
	int n_stack = 0;
	uint64_t now = self_now();

	gather_stack(&g, t->sent);
	flags = g.flags;
	if (page->magic != PCCE_PAGE_MAGIC || !(page->state & PCCE_STATE_LIVE))
		flags |= PCCE_SAMPLE_OUTSIDE;
	if (!maps_know((uint64_t)regs[REG_RIP]) || !sites_are_known(&g))
		maps_scan(&ring, now, self_pid, MAPS_IN_HANDLER);
	if (unwind && t->stack) {
		int complete = 0;

		n_stack = unwind(uc, t->stack, PCCE_SELF_STACK, &complete);
		flags |= PCCE_SAMPLE_STACK;
		if (n_stack <= 0 || !complete || !is_outermost(t, t->stack[n_stack - 1]))
			flags |= PCCE_SAMPLE_UNWIND_BAD;
		if (n_stack < 0)
			n_stack = 0;
	}
	s = ring_reserve(&ring,
			 sizeof(*s) + g.n_entries * sizeof(struct pcce_entry) +
				 g.n_segments * sizeof(struct pcce_segment) + (size_t)n_stack * 8,
			 PCCE_SELF_SAMPLE);
	if (!s) {
		count_lost_sample(now);
		return;
	}
	s->sample = (struct pcce_sample){
		.time = now,
		.pid = self_pid,
		.tid = page->tid,
		.ip = (uint64_t)regs[REG_RIP],
		.r11 = (uint64_t)regs[REG_R11],
		.id = page->id,
		.ext = page->ext,
		.flags = flags,
		.weight = weight,
		.n_entries = g.n_entries,
		.n_segments = g.n_segments,
		.n_below = g.n_below,
		.n_stack = (uint32_t)n_stack,
		.cpu = (uint32_t)sched_getcpu(),
		.sp = (uint64_t)regs[REG_RSP],
		.below = g.below,
	};
	write_stack(&g, s + 1, t->stack, (size_t)n_stack);
	ring_commit(&ring, s);
	t->sent = g.sent;
}

static void disarm_thread(struct pcce_thread *t)
{
	if (!t->sampled)
		return;
	t->sampled = false;
	if (t->has_timer)
		raw_syscall1(SYS_timer_delete, t->timer);
	else
		raw_syscall2(SYS_munmap, t->perf_page, MEMORY_PAGE);
}

static void on_sampling_signal(int signo, siginfo_t *info, void *context)
{
	struct pcce_thread *t = pcce_thread_self();
	uint32_t weight = 1;
	uint64_t start = 0, end;
	int saved_errno;

	(void)signo;
	if (!t->sampled || !ring.head || t->in_handler)
		return;
	if (t->has_timer) {
		if (info->si_code != SI_TIMER)
			return;
		if (info->si_overrun > 0)
			weight += (uint32_t)info->si_overrun;
	} else if (info->si_code != POLL_IN) {
		return;
	}
	if (__atomic_load_n(&ring.head->stop, __ATOMIC_RELAXED)) {
		disarm_thread(t);
		return;
	}
	/* To unwind a deep stack may take longer than a period. The program gets as much time as
	 * the last sample took; otherwise it would make no progress. */
	if (unwind) {
		start = self_now();
		if (start < t->quiet_until) {
			t->skipped += weight;
			return;
		}
		weight += t->skipped;
		t->skipped = 0;
	}
	saved_errno = errno; /* the unwinder of verify mode may change errno */
	t->in_handler = true;
	signal_sample(t, interrupted_code(context), weight);
	t->in_handler = false;
	errno = saved_errno;
	if (unwind) {
		end = self_now();
		t->quiet_until = end + (end - start);
	}
}

/* ---- sources -------------------------------------------------------------------- */

static bool arm_perf(struct pcce_thread *t)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = want_task_clock ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = interval,
		.disabled = 1,
		.exclude_hv = 1,
		.wakeup_events = 1,
	};
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)t->page->tid};
	void *page;
	long fd;

	fd = raw_syscall5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd == -EACCES || fd == -EPERM) {
		attr.exclude_kernel = 1;
		fd = raw_syscall5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0)
			set_flag(PCCE_SELF_USER_ONLY);
	}
	if (fd < 0) {
		pcce_debug("cannot open a perf event:", fd);
		return false;
	}
	page = raw_mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (raw_failed(page) || raw_syscall3(SYS_fcntl, fd, F_SETSIG, self_signal) < 0 ||
	    raw_syscall3(SYS_fcntl, fd, F_SETOWN_EX, &owner) < 0 ||
	    raw_syscall3(SYS_fcntl, fd, F_SETFL, O_RDWR | O_ASYNC | O_NONBLOCK) < 0) {
		if (!raw_failed(page))
			raw_syscall2(SYS_munmap, page, MEMORY_PAGE);
		raw_syscall1(SYS_close, fd);
		return false;
	}
	t->has_timer = false;
	t->perf_page = page;
	t->sampled = true;
	raw_syscall3(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	raw_syscall1(SYS_close, fd);
	return true;
}

static bool arm_timer(struct pcce_thread *t)
{
	struct itimerspec spec = {
		.it_interval = {.tv_sec = (time_t)(interval / 1000000000),
				.tv_nsec = (long)(interval % 1000000000)},
	};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = self_signal};
	int timer;

	spec.it_value = spec.it_interval;
	event._sigev_un._tid = (pid_t)t->page->tid;
	if (raw_syscall3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0)
		return false;
	t->has_timer = true;
	t->timer = timer;
	t->sampled = true;
	if (raw_syscall4(SYS_timer_settime, timer, 0, &spec, NULL) < 0) {
		disarm_thread(t);
		return false;
	}
	set_flag(PCCE_SELF_TIMER);
	return true;
}

static void arm_thread(struct pcce_thread *t)
{
	uint64_t set = 1ULL << (self_signal - 1);

	raw_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
	if ((!want_timer && arm_perf(t)) || arm_timer(t))
		return;
	set_flag(PCCE_SELF_NO_SOURCE);
}

/* ---- threads and processes -------------------------------------------------------- */

static void report_process(uint32_t flags)
{
	struct pcce_self_process *p = ring_reserve(&ring, sizeof(*p), PCCE_SELF_PROCESS);

	if (!p)
		return;
	p->time = self_now();
	p->pid = self_pid;
	p->ppid = (uint32_t)raw_syscall0(SYS_getppid);
	p->flags = flags;
	p->reserved = 0;
	p->pad = 0;
	memset(p->comm, 0, sizeof(p->comm));
	raw_syscall2(SYS_prctl, PR_GET_NAME, p->comm);
	ring_commit(&ring, p);
}

static void report_thread(uint32_t tid)
{
	struct pcce_self_thread *p = ring_reserve(&ring, sizeof(*p), PCCE_SELF_THREAD);

	if (!p)
		return;
	p->time = self_now();
	p->pid = self_pid;
	p->tid = tid;
	memset(p->comm, 0, sizeof(p->comm));
	raw_syscall2(SYS_prctl, PR_GET_NAME, p->comm);
	ring_commit(&ring, p);
}

static void prepare_verify(struct pcce_thread *t)
{
	uint64_t *stack;
	int complete = 0, n;

	stack = raw_mmap(NULL, PCCE_SELF_STACK * sizeof(*stack), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(stack))
		return;
	n = unwind(NULL, stack, PCCE_SELF_STACK, &complete);
	t->outermost = n > 0 && complete ? stack[n - 1] : 0;
	__atomic_store_n(&t->stack, stack, __ATOMIC_RELEASE);
}

void self_thread_begin(struct pcce_thread *t)
{
	if (!active)
		return;
	report_thread(t->page->tid);
	if (unwind)
		prepare_verify(t);
	arm_thread(t);
}

void self_thread_end(struct pcce_thread *t)
{
	uint64_t *stack = t->stack;

	disarm_thread(t);
	t->stack = NULL;
	if (stack)
		raw_syscall2(SYS_munmap, stack, PCCE_SELF_STACK * sizeof(*stack));
	if (active)
		report_thread(t->page->tid); /* its name may have changed */
}

/* A forked child inherits neither POSIX timers nor the perf event's mapping, so it arms its thread
 * again. */
void self_after_fork(struct pcce_thread *t)
{
	struct ring parent = ring, own = {0};

	if (!active)
		return;
	t->sampled = false;
	t->sent = 0;
	maps_after_fork();
	self_pid = (uint32_t)raw_syscall0(SYS_getpid);
	if (ring_open(&own, directory, ring_size, self_now(), self_pid) == 0) {
		ring = own;
		ring_close(&parent);
	}
	/* Otherwise privileges were dropped, the root directory changed, or there is no room: both
	 * use the parent's ring. */
	report_process(PCCE_PROCESS_FORK);
	/* If it cannot read its mappings (chroot), they are still the parent's. */
	maps_scan(&ring, self_now(), self_pid, MAPS_ALL);
	report_thread(t->page->tid);
	if (!__atomic_load_n(&ring.head->stop, __ATOMIC_RELAXED))
		arm_thread(t);
}

static void disarm_visited(struct pcce_thread *t, void *arg)
{
	(void)arg;
	disarm_thread(t);
}

static void end_sampling(uint32_t reason)
{
	active = false;
	set_flag(reason);
	registry_each(disarm_visited, NULL);
}

/* The program is about to install a handler for the signal. */
bool self_signal_taken(int signo)
{
	if (!active || signo != self_signal)
		return false;
	end_sampling(PCCE_SELF_SIGNAL_TAKEN);
	pcce_debug("the program uses the sampling signal itself; sampling ends. Signal", signo);
	return true;
}

/* The program is about to make it fatal to read the clock. */
void self_clock_forbidden(void)
{
	if (active)
		end_sampling(PCCE_SELF_NO_CLOCK);
}

/* ---- activation ------------------------------------------------------------------ */

/* Parses <directory>:<interval>:<flags> from its end, since a directory may contain colons. */
static bool parse_activation(const char *text)
{
	const char *flags = strrchr(text, ':'), *number;

	if (!flags || flags == text)
		return false;
	for (number = flags; number > text && number[-1] != ':'; number--)
		;
	if (number == text || (size_t)(number - 1 - text) >= sizeof(directory))
		return false;
	interval = 0;
	for (const char *c = number; c < flags; c++) {
		if (*c < '0' || *c > '9' || interval > UINT64_MAX / 16)
			return false;
		interval = interval * 10 + (uint64_t)(*c - '0');
	}
	if (interval < 10000)
		interval = 10000;
	memcpy(directory, text, (size_t)(number - 1 - text));
	directory[number - 1 - text] = 0;
	want_verify = strchr(flags, PCCE_SELF_FLAG_VERIFY) != NULL;
	want_task_clock = strchr(flags, PCCE_SELF_FLAG_TASK_CLOCK) != NULL;
	want_timer = strchr(flags, PCCE_SELF_FLAG_TIMER) != NULL;
	return true;
}

/* Returns room for a second of samples of 1 KB (4 KB with a real stack) on all CPUs. For the
 * largest samples this is a sixteenth of a second. */
static uint64_t choose_ring_size(void)
{
	uint64_t mask[128] = {0}, cpus = 0, bytes, size = 4 * PCCE_SELF_DATA_MIN;
	long n = raw_syscall3(SYS_sched_getaffinity, 0, sizeof(mask), mask);

	for (long i = 0; i < n / 8; i++)
		cpus += count_bits(mask[i]);
	bytes = 1000000000 / interval * (cpus ? cpus : 1) * (want_verify ? 4096 : 1024);
	while (size < bytes && size < PCCE_SELF_DATA_MAX)
		size *= 2;
	return size;
}

static bool install_handler(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK}, old;

	action.sa_sigaction = on_sampling_signal;
	/* The program's handlers wait, except those of signals that an instruction raises. */
	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGSEGV);
	sigdelset(&action.sa_mask, SIGBUS);
	sigdelset(&action.sa_mask, SIGILL);
	sigdelset(&action.sa_mask, SIGFPE);
	sigdelset(&action.sa_mask, SIGTRAP);
	sigdelset(&action.sa_mask, SIGABRT);
	if (__sigaction(self_signal, NULL, &old) != 0)
		return false;
	if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
		return false;
	return __sigaction(self_signal, &action, NULL) == 0;
}

void self_start(void)
{
	const char *text = getauxval(AT_SECURE) ? NULL : getenv(PCCE_SELF_ENV);
	int ret;

	if (!text || !parse_activation(text))
		return;
	self_pid = (uint32_t)raw_syscall0(SYS_getpid);
	ring_size = choose_ring_size();
	ret = ring_open(&ring, directory, ring_size, self_now(), self_pid);
	if (ret < 0) {
		pcce_debug("cannot make a ring for the self sampler:", ret);
		return;
	}
	entry_point = getauxval(AT_ENTRY);
	if (want_verify) {
		/* Not in a static program. Nor with ThreadSanitizer, whose checks of the locks that
		 * an unwinder takes do not work in handlers. */
		if (dlsym && !__pthread_create && !__tsan_init)
			unwind = (verify_unwind_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, VERIFY_UNWIND);
		if (!unwind)
			set_flag(PCCE_SELF_NO_UNWINDER);
	}
	report_process(PCCE_PROCESS_EXEC);
	if (!maps_scan(&ring, self_now(), self_pid, MAPS_ALL))
		set_flag(PCCE_SELF_NO_MAPS);
	if (!install_handler()) {
		set_flag(PCCE_SELF_SIGNAL_TAKEN);
		return;
	}
	active = true;
}

/* After dlclose(): forgets what was there. */
void self_rescan(void)
{
	if (active)
		maps_scan(&ring, self_now(), self_pid, MAPS_NEW);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Writes the contexts of all threads when the program crashes: pcce_crash_report() of pcce.h.
 *
 * The handler is installed like the program's own ones. So it runs on top of the interrupted state
 * (signal_entry.S), which is part of its own context: the name of that context says where the
 * program crashed. Neither the stack nor its return addresses are read.
 *
 * All other threads get a signal, and each names its own context in a handler. The signal is the
 * one with which the C library changes user ids in all threads (33): no thread can block it. It is
 * taken over for that time only. A thread that does not answer within a few seconds is reported as
 * such.
 *
 * The report is appended to the file in lines, with the dictionary between them. Then the action
 * that the program had before is installed again. A fault happens once more when the handler
 * returns; another signal is sent again, with its siginfo. So the program's earlier handler, a
 * debugger and a core dump see what they would see without all this.
 *
 * Nothing here allocates or takes a lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <ucontext.h>
#include "base/confined.h"
#include "contexts/words.h"
#include "contexts/crash.h"
#include "contexts/dictionary.h"
#include "internal.h"
#include "base/local_libc.h"
#include "interpose/own.h"
#include "base/quiet_write.h"
#include "base/syscall.h"

#define ASKING_SIGNAL 33
#define THREADS_MAX 4096
#define PATIENCE_MS 3000
#define LINE_SIZE 256
#define RESTORER 0x04000000ul

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
#define N_SIGNALS (sizeof(signals) / sizeof(*signals))

/* As rt_sigaction(2) takes it. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

struct asked_thread {
	uint32_t tid;
	bool answered;
};

extern void __pcce_signal_entry(int sig, siginfo_t *info, void *context)
	__attribute__((visibility("hidden")));
extern void (*volatile __pcce_signal_handlers[])(int) __attribute__((visibility("hidden")));

static char file[PATH_MAX];
static struct sigaction before[N_SIGNALS];
static uint32_t reporting; /* the thread that reports */
static bool reported;
static int report_fd;
static struct asked_thread asked[THREADS_MAX];
static uint32_t n_asked;

/* ---- lines ----------------------------------------------------------------------- */

struct report_line {
	char text[LINE_SIZE];
	size_t n;
};

static void put_string(struct report_line *l, const char *s)
{
	while (*s && l->n < LINE_SIZE - 1)
		l->text[l->n++] = *s++;
}

static void put_report_value(struct report_line *l, uint64_t value, unsigned int base)
{
	char digits[24];
	size_t d = sizeof(digits);

	digits[--d] = 0;
	do
		digits[--d] = "0123456789abcdef"[value % base];
	while (value /= base);
	put_string(l, digits + d);
}

static void write_line(struct report_line *l)
{
	l->text[l->n++] = '\n';
	quiet_write(report_fd, l->text, l->n);
}

static uint32_t own_tid(void)
{
	return (uint32_t)raw_syscall0(SYS_gettid);
}

static void begin_thread_line(struct report_line *l, uint32_t tid)
{
	l->n = 0;
	put_string(l, "pcce-crash: thread ");
	put_report_value(l, tid, 10);
}

/* The context of the calling thread; ip is where it was interrupted. */
static void write_own_context(const char *what, uint64_t ip)
{
	char text[PCCE_TEXT_SIZE];
	struct pcce_id id;
	struct report_line l;
	struct namer n;

	state_name_in_handler(&id);
	begin_thread_line(&l, own_tid());
	put_string(&l, what);
	namer_begin(&n);
	/* A return to an address that was overwritten leaves no trace of inner frames. */
	if (!namer_find(&n, ip)) {
		put_string(&l, " at ");
		put_string(&l, "0x");
		put_report_value(&l, ip, 16);
		put_string(&l, ", where no code is known (inner frames may be missing)");
	}
	put_string(&l, ": ");
	put_string(&l, pcce_context_text(id, text));
	write_line(&l);
}

/* ---- other threads --------------------------------------------------------------- */

static void on_asked(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	uint32_t tid = own_tid();

	(void)sig;
	(void)info;
	for (uint32_t i = 0; i < n_asked; i++) {
		if (asked[i].tid != tid || __atomic_load_n(&asked[i].answered, __ATOMIC_ACQUIRE))
			continue;
		write_own_context("", (uint64_t)u->uc_mcontext.gregs[REG_RIP]);
		__atomic_store_n(&asked[i].answered, true, __ATOMIC_RELEASE);
	}
}

static int add_thread(const struct pcce_page *page, void *arg)
{
	(void)arg;
	if (page->tid && page->tid != reporting && n_asked < THREADS_MAX)
		asked[n_asked++] = (struct asked_thread){.tid = page->tid};
	return 0;
}

static bool all_have_answered(void)
{
	for (uint32_t i = 0; i < n_asked; i++)
		if (!__atomic_load_n(&asked[i].answered, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static void wait_a_moment(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	raw_syscall2(SYS_nanosleep, &moment, NULL);
}

static void ask_threads(void)
{
	struct kernel_action action = {0}, old;
	void (*handler_before)(int) = __pcce_signal_handlers[ASKING_SIGNAL];
	long pid = raw_syscall0(SYS_getpid);
	struct report_line l;

	n_asked = 0;
	pcce_threads_walk(add_thread, NULL);
	/* Any handler of the C library has the restorer that the kernel demands. */
	if (!n_asked || raw_syscall4(SYS_rt_sigaction, SIGSEGV, NULL, &action, 8) < 0)
		return;
	action = (struct kernel_action){.handler = __pcce_signal_entry,
					.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | RESTORER,
					.restorer = action.restorer,
					.mask = ~0ULL};
	__pcce_signal_handlers[ASKING_SIGNAL] = (void (*)(int))(uintptr_t)on_asked;
	if (raw_syscall4(SYS_rt_sigaction, ASKING_SIGNAL, &action, &old, 8) < 0)
		return;
	for (uint32_t i = 0; i < n_asked; i++)
		if (raw_syscall3(SYS_tgkill, pid, asked[i].tid, ASKING_SIGNAL) < 0)
			asked[i].answered = true; /* it has just ended */
	for (int i = 0; i < PATIENCE_MS && !all_have_answered(); i++)
		wait_a_moment();
	for (uint32_t i = 0; i < n_asked; i++) {
		if (asked[i].answered)
			continue;
		begin_thread_line(&l, asked[i].tid);
		put_string(&l, " does not answer");
		write_line(&l);
	}
	if (old.handler && !all_have_answered())
		return; /* a late answer must not meet the other handler */
	raw_syscall4(SYS_rt_sigaction, ASKING_SIGNAL, &old, NULL, 8);
	__pcce_signal_handlers[ASKING_SIGNAL] = handler_before;
}

/* ---- the crash ------------------------------------------------------------------- */

static void write_report(int sig, const siginfo_t *info, uint64_t ip)
{
	struct report_line l = {.n = 0};
	uint64_t at = 0;

	put_string(&l, "pcce-crash: process ");
	put_report_value(&l, (uint64_t)raw_syscall0(SYS_getpid), 10);
	put_string(&l, " got signal ");
	put_report_value(&l, (uint64_t)sig, 10);
	if (info->si_code > 0) {
		put_string(&l, " for address 0x");
		put_report_value(&l, (uint64_t)(uintptr_t)info->si_addr, 16);
	}
	write_line(&l);
	write_own_context(" crashed", ip);
	/* What follows reads more memory that may be damaged. */
	dictionary_write_from(report_fd, &at);
	ask_threads();
	dictionary_write_from(report_fd, &at);
}

static void report(int sig, const siginfo_t *info, uint64_t ip)
{
	long fd;

	if (is_confined(CONFINED))
		return;
	fd = raw_syscall4(SYS_openat, AT_FDCWD, file,
			  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				  O_NOCTTY,
			  0600);
	if (fd < 0) {
		pcce_debug("cannot append to the crash report:", fd);
		return;
	}
	report_fd = (int)fd;
	write_report(sig, info, ip);
	raw_syscall1(SYS_close, fd);
}

/* A fault happens again by itself. */
static bool repeats(int sig, const siginfo_t *info)
{
	return info->si_code > 0 &&
	       (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE);
}

static void chain(int sig, siginfo_t *info)
{
	for (size_t i = 0; i < N_SIGNALS; i++)
		if (signals[i] == sig)
			pcce_own_sigaction(sig, &before[i], NULL);
	if (!repeats(sig, info))
		raw_syscall4(SYS_rt_tgsigqueueinfo, raw_syscall0(SYS_getpid), own_tid(), sig, info);
}

static void on_crash(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	uint32_t tid = own_tid(), none = 0;
	int saved_errno = errno;

	if (__atomic_compare_exchange_n(&reporting, &none, tid, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST)) {
		report(sig, info, (uint64_t)u->uc_mcontext.gregs[REG_RIP]);
		__atomic_store_n(&reported, true, __ATOMIC_SEQ_CST);
	} else if (none != tid) {
		/* Another thread is about to end the process. */
		while (!__atomic_load_n(&reported, __ATOMIC_SEQ_CST))
			wait_a_moment();
	}
	chain(sig, info);
	errno = saved_errno;
}

/* ---- installation ---------------------------------------------------------------- */

static bool is_installed(int sig)
{
	struct sigaction now;

	return !pcce_own_sigaction(sig, NULL, &now) &&
	       (uintptr_t)now.sa_sigaction == (uintptr_t)on_crash;
}

static int install(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

	action.sa_sigaction = on_crash;
	crash_installed = true;
	crash_thread_begin(pcce_thread_self());
	__atomic_store_n(&reported, false, __ATOMIC_SEQ_CST);
	__atomic_store_n(&reporting, 0, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < N_SIGNALS; i++)
		if (!is_installed(signals[i]) &&
		    pcce_own_sigaction(signals[i], &action, &before[i]))
			return -errno;
	return 0;
}

static int set_file(const char *name)
{
	size_t n = 0, size = strlen(name) + 1;
	long length;

	if (size < 2)
		return -ENOENT;
	if (*name != '/') {
		length = raw_syscall2(SYS_getcwd, file, sizeof(file));
		n = length > 0 ? (size_t)length : 1;
		file[n - 1] = '/';
	}
	if (n + size > sizeof(file))
		return -ENAMETOOLONG;
	memcpy(file + n, name, size);
	return 0;
}

int pcce_crash_install(const char *name)
{
	int saved_errno = errno, r = pcce_active ? set_file(name) : -ENOSYS;

	if (!r)
		r = install();
	errno = saved_errno;
	return r;
}

void crash_begin(void)
{
	const char *name = getauxval(AT_SECURE) ? NULL : getenv("PCCE_CRASH");
	int r = name && *name ? set_file(name) : -ENOENT;

	if (!r)
		r = install();
	if (r && r != -ENOENT)
		pcce_debug("no crash handler:", r);
}

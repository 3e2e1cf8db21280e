/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Handlers of all kinds: on an alternate stack, with SA_SIGINFO, SA_NODEFER and recursing,
 * SA_RESETHAND, of a fault, left by siglongjmp, installed before main and replaced later, by
 * sigset(), with one that was inherited as ignored.
 *
 * sampled: no
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "burn.h"

static volatile unsigned int seen;
static sigjmp_buf out;
static char alternate[65536];

static NOINLINE void work(unsigned int n)
{
	burn(n);
	seen += n;
}

static void plain(int sig)
{
	work((unsigned int)sig);
}

static void with_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	work((unsigned int)(sig + (info->si_pid == getpid())));
}

static void recursing(int sig)
{
	static volatile int depth;

	work(3);
	if (depth++ < 4)
		raise(sig);
	depth--;
	work(4);
}

static void nests(int sig)
{
	(void)sig;
	work(1);
	raise(SIGUSR2);
	raise(SIGWINCH);
	work(2);
}

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	work(5);
	siglongjmp(out, 1);
}

static void install(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = flags;
	sigaction(sig, &sa, NULL);
}

static void install_info(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = handler;
	sa.sa_flags = flags | SA_SIGINFO;
	sigaction(sig, &sa, NULL);
}

__attribute__((constructor)) static void before_main(void)
{
	signal(SIGHUP, plain);
	raise(SIGHUP);
}

static NOINLINE void touch(volatile char *page)
{
	*page = 1;
	work(6);
}

static NOINLINE unsigned int each(unsigned int depth)
{
	static const int signals[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGTERM, SIGALRM};
	unsigned int r = 0;

	if (depth)
		r = each(depth - 1);
	raise(signals[depth % (sizeof(signals) / sizeof(*signals))]);
	return r + 1;
}

static NOINLINE void faults(volatile char *page)
{
	if (sigsetjmp(out, 1) == 0)
		touch(page);
	else
		work(7);
}

int main(void)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction old;

	sigaltstack(&stack, NULL);
	install(SIGUSR1, nests, 0);
	install(SIGUSR2, recursing, SA_NODEFER);
	install(SIGWINCH, plain, SA_ONSTACK);
	install_info(SIGTERM, with_info, SA_ONSTACK | SA_RESTART);
	install(SIGALRM, plain, 0);
	install_info(SIGSEGV, fault, SA_ONSTACK);
	each(6);
	faults(page);
	install_info(SIGSEGV, fault, 0);
	faults(page);
	install(SIGALRM, nests, SA_ONSTACK);
	each(6);
	sigaction(SIGHUP, NULL, &old);
	signal(SIGHUP, SIG_IGN);
	each(1);
	sigaction(SIGHUP, &old, NULL);
	sigset(SIGALRM, plain);
	sighold(SIGALRM);
	raise(SIGALRM);
	sigrelse(SIGALRM);
	each(5);
	sigignore(SIGALRM);
	each(5);
	install(SIGTERM, plain, SA_RESETHAND);
	each(4);
	printf("%u %d\n", seen, old.sa_handler == plain);
	return 0;
}

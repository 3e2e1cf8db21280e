/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines functions of the C library, as memory allocators and crash reporters do. Each counts its
 * calls, and calls the next function of its name, which dlsym() finds. With -DRAW, sigaction() is a
 * system call instead, as in programs that are linked statically. -DONLY_SIGACTION leaves out all
 * others.
 *
 * At the end it prints the functions that were called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#ifndef ATTRIBUTE
#define ATTRIBUTE
#endif
#ifdef WRAPPED /* with --wrap=NAME */
#define SYMBOL "__wrap_"
#define NEXT(name) ((void *)__real_##name)
#else
#define SYMBOL ""
#define NEXT(name) dlsym(RTLD_NEXT, #name)
#endif

/* clang-format off */
#define OWN(type, name, parameters, arguments)                                          \
	extern char __real_##name[];                                                    \
	ATTRIBUTE type own_##name parameters __asm__(SYMBOL #name);                     \
	static int calls_##name;                                                        \
	type own_##name parameters                                                      \
	{                                                                               \
		type (*next) parameters = (type (*) parameters)(size_t)NEXT(name);      \
		calls_##name++;                                                         \
		return next arguments;                                                  \
	}
/* clang-format on */

#ifdef RAW
struct kernel_action {
	void *handler;
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};
#define FLAG_RESTORER 0x04000000ul

extern void restore_signal(void);
__asm__(".text\nrestore_signal: mov $15, %eax\nsyscall");

static int calls_sigaction;
ATTRIBUTE int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct kernel_action new = {0}, before = {0};

	calls_sigaction++;
	if (act) {
		new.handler = (void *)act->sa_handler;
		new.flags = (unsigned long)act->sa_flags | FLAG_RESTORER;
		new.restorer = restore_signal;
		memcpy(&new.mask, &act->sa_mask, sizeof(new.mask));
	}
	if (syscall(SYS_rt_sigaction, sig, act ? &new : NULL, &before, sizeof(new.mask)))
		return -1;
	if (old) {
		memset(old, 0, sizeof(*old));
		old->sa_handler = (sighandler_t)before.handler;
		old->sa_flags = (int)(before.flags & ~FLAG_RESTORER);
		memcpy(&old->sa_mask, &before.mask, sizeof(before.mask));
	}
	return 0;
}
#else
OWN(int, sigaction, (int sig, const struct sigaction *act, struct sigaction *old), (sig, act, old))
#endif
#ifndef ONLY_SIGACTION
#define P pthread_t *t, const pthread_attr_t *attr, void *(*f)(void *), void *arg
OWN(int, pthread_create, (P), (t, attr, f, arg))
OWN(int, thrd_create, (thrd_t * t, thrd_start_t f, void *arg), (t, f, arg))
OWN(sighandler_t, signal, (int sig, sighandler_t handler), (sig, handler))
OWN(sighandler_t, sigset, (int sig, sighandler_t handler), (sig, handler))
OWN(int, siginterrupt, (int sig, int flag), (sig, flag))
OWN(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
OWN(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
OWN(int, sigaltstack, (const stack_t *new, stack_t *old), (new, old))
#ifndef RAW
#define Q long number, long a, long b, long c, long d, long e, long f
OWN(long, syscall, (Q), (number, a, b, c, d, e, f))
#endif
OWN(int, prctl, (int option, long a, long b, long c, long d), (option, a, b, c, d))

static int thread(void *arg)
{
	(void)arg;
	return 0;
}

static void on_nothing(int sig)
{
	(void)sig;
}

/* Does the handler that was set come back? */
static int shows(sighandler_t handler)
{
	struct sigaction now;

	return !sigaction(SIGURG, NULL, &now) && now.sa_handler == handler;
}

__attribute__((constructor)) static void call_all(void)
{
	stack_t stack;
	sigset_t set;
	thrd_t t;

	if (thrd_create(&t, thread, NULL) == thrd_success)
		thrd_join(t, NULL);
	if (signal(SIGURG, on_nothing) != SIG_DFL || !shows(on_nothing))
		puts("signal");
	own_sigset(SIGURG, SIG_DFL);
	if (!shows(SIG_DFL))
		puts("sigset");
	own_siginterrupt(SIGURG, 0);
	sigemptyset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaltstack(NULL, &stack);
	if (syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) != getpid())
		puts("syscall");
	prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
}
#endif

#define SHOW(name)                            \
	do {                                  \
		if (calls_##name)             \
			printf(" %s", #name); \
	} while (0)

__attribute__((destructor)) static void show(void)
{
	printf("called:");
	SHOW(sigaction);
#ifndef ONLY_SIGACTION
	SHOW(pthread_create);
	SHOW(thrd_create);
	SHOW(signal);
	SHOW(sigset);
	SHOW(siginterrupt);
	SHOW(pthread_sigmask);
	SHOW(sigprocmask);
	SHOW(sigaltstack);
#ifndef RAW
	SHOW(syscall);
#endif
	SHOW(prctl);
#endif
	puts("");
}

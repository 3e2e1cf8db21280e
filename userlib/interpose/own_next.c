// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Leads a program's own pthread_create(), sigaction() and so on to the runtime's.
 *
 * Such a function mostly calls the next one of its name, which it finds by dlsym(RTLD_NEXT). The
 * dynamic linker looks behind the executable for it, and would pass by the runtime, which is in the
 * executable. So executables are linked with --wrap=dlsym, which leads their calls of dlsym() to
 * this file. Where the result is the C library's function, or that of another interposer, the
 * program gets the runtime's, which calls it.
 */
#include <stdint.h>
#include "interpose/next.h"

#define FUNCTIONS(X)                        \
	X(pthread_create, pthread_create)   \
	X(thrd_create, thrd_create)         \
	X(sigaction, sigaction)             \
	X(signal, signal)                   \
	X(bsd_signal, signal)               \
	X(ssignal, signal)                  \
	X(__sysv_signal, sysv_signal)       \
	X(sysv_signal, sysv_signal)         \
	X(siginterrupt, siginterrupt)       \
	X(sigset, sigset)                   \
	X(sigignore, sigignore)             \
	X(sighold, sighold)                 \
	X(sigrelse, sigrelse)               \
	X(sigblock, sigblock)               \
	X(sigsetmask, sigsetmask)           \
	X(siggetmask, siggetmask)           \
	X(pthread_sigmask, pthread_sigmask) \
	X(sigprocmask, sigprocmask)         \
	X(sigaltstack, sigaltstack)         \
	X(syscall, syscall)                 \
	X(prctl, prctl)                     \
	X(vfork, vfork)                     \
	X(_Fork, _Fork)                     \
	X(clone, clone)                     \
	X(timer_create, timer_create)       \
	X(_setjmp, _setjmp)                 \
	X(setjmp, setjmp)                   \
	X(__sigsetjmp, __sigsetjmp)         \
	X(longjmp, longjmp)                 \
	X(_longjmp, _longjmp)               \
	X(siglongjmp, siglongjmp)           \
	X(__longjmp_chk, __longjmp_chk)     \
	X(getcontext, getcontext)           \
	X(setcontext, setcontext)           \
	X(swapcontext, swapcontext)         \
	X(makecontext, makecontext)         \
	X(_Unwind_SetIP, _Unwind_SetIP)

#define DECLARE(name, own) extern const char pcce_own_##own[];
#define ROW(name, own) {#name, pcce_own_##own},

FUNCTIONS(DECLARE)

static const struct {
	const char *name;
	const void *own;
} functions[] = {FUNCTIONS(ROW)};

/* A sanitizer calls dlsym() before its strcmp() can be called. */
static int is_named(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (!*a)
			return 1;
	return 0;
}

/* The program must not see the message if there is none. */
static int is_next(const void *found, const char *name)
{
	const void *next = real_dlsym(RTLD_NEXT, name);

	if (!next)
		dlerror();
	return found == next;
}

void *__wrap_dlsym(void *handle, const char *name) __attribute__((weak, visibility("default")));
void *__wrap_dlsym(void *handle, const char *name)
{
	void *found = real_dlsym(handle, name);

	for (size_t i = 0; found && i < sizeof(functions) / sizeof(*functions); i++)
		if (is_named(functions[i].name, name) && is_next(found, name))
			return (void *)(uintptr_t)functions[i].own;
	return found;
}

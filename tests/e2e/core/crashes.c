/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crashes KIND DEPTH: ends with a core dump, at a depth of calls that it chooses by itself, after
 * it has written its chain of calls, innermost function first, to the file "truth" (the line of the
 * innermost function is where the crash is, and is not in it).
 *
 * Most kinds first overwrite the stack above the innermost frame, with return addresses and all.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PART 4096

struct place {
	const char *function;
	int line;
};

static struct place chain[20000];
static int n_chain;
static const char *kind;
static volatile int zero;
static unsigned int seed = 12345;
static int left;
static char *stack_end; /* of the thread that crashes */

#define ENTER (chain[n_chain++] = (struct place){__func__, 0})
#define LEAVE n_chain--
/* The call must be in the line of the macro. */
#define CALL(call) (chain[n_chain - 1].line = __LINE__, (call))

static void note_truth(void)
{
	FILE *f = fopen("truth", "w");

	if (!f)
		_exit(99);
	for (int i = n_chain; i-- > 0;)
		fprintf(f, i == n_chain - 1 ? "%s\n" : "%s:%d\n", chain[i].function, chain[i].line);
	if (fclose(f))
		_exit(99);
}

static int is(const char *name)
{
	return !strcmp(kind, name);
}

/* Overwrites the stack from an address to its end, without a call. */
static inline __attribute__((always_inline)) void smash(void *from)
{
	volatile char *at = from;

	while (at < (volatile char *)stack_end)
		*at++ = 0x41;
}

static void handler(int sig)
{
	(void)sig;
	ENTER;
	note_truth();
	smash(__builtin_frame_address(0));
	*(volatile int *)8 = 1;
	LEAVE;
}

static void *volatile nothing;

/* Memory of a file that has no bytes. */
static NOINLINE void *short_file(void)
{
	int fd = memfd_create("short", 0);

	return fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
}

static NOINLINE int crash(int x)
{
	volatile char local[64];
	void (*call)(void) = (void (*)(void))nothing;

	ENTER;
	local[x & 63] = 1;
	note_truth();
	if (is("null")) {
		smash(__builtin_frame_address(0));
		*(volatile int *)nothing = 1;
	} else if (is("trap")) {
		smash(__builtin_frame_address(0));
		__builtin_trap();
	} else if (is("divide")) {
		smash(__builtin_frame_address(0));
		x /= zero;
	} else if (is("abort")) {
		abort();
	} else if (is("raise")) {
		raise(SIGSEGV);
	} else if (is("call-null")) {
		call();
	} else if (is("frame-pointer")) {
		/* Nothing to unwind by. */
		smash(__builtin_frame_address(0));
		__asm__ volatile("xor %%ebp, %%ebp\n\tud2" : : : "memory");
	} else if (is("stack-pointer")) {
		__asm__ volatile("xor %%ebp, %%ebp\n\txor %%esp, %%esp\n\tud2" : : : "memory");
	} else if (is("library")) {
		/* In memcpy(), which is not instrumented. */
		smash(__builtin_frame_address(0));
		memcpy((void *)(uintptr_t)(8 + x % 2), chain, 5000 + (size_t)x % 2);
	} else if (is("return")) {
		smash(__builtin_frame_address(0));
	} else if (is("leaf")) {
		/* In a function that cannot call back. */
		smash(__builtin_frame_address(0));
		x += (int)strlen((char *)nothing + 8);
	} else if (is("free")) {
		void *volatile p = malloc(24);

		smash(__builtin_frame_address(0));
		free(p);
		free(p);
	} else if (is("assert")) {
		smash(__builtin_frame_address(0));
		assert(zero);
	} else if (is("bus")) {
		char *volatile p = short_file();

		smash(__builtin_frame_address(0));
		*p = 1;
	} else if (is("no-stack")) {
		/* Nothing can be read of it. */
		uintptr_t from = (uintptr_t)&local & ~4095ul, to = (uintptr_t)stack_end & ~4095ul;
		long r;

		__asm__ volatile("syscall"
				 : "=a"(r)
				 : "a"(SYS_mprotect), "D"(from), "S"(to - from), "d"(PROT_NONE)
				 : "rcx", "r11", "memory");
		*(volatile int *)nothing = (int)r;
	} else if (is("wild")) {
		/* To where no code is. */
		((void **)__builtin_frame_address(0))[1] = (void *)0x1000;
	} else {
		_exit(98);
	}
	LEAVE;
	return x + local[0];
}

/* With optimisation, the tail call leaves no frame with a line. */
static NOINLINE int tail_crash(int x)
{
	kind = "null";
#ifdef __OPTIMIZE__
	return crash(x);
#else
	ENTER;
	return CALL(crash(x));
#endif
}

static int deeper(void);

static NOINLINE int one(void)
{
	int r;

	ENTER;
	r = CALL(deeper());
	LEAVE;
	return r + 1;
}

static NOINLINE int two(void)
{
	int r;

	ENTER;
	if (seed & 1 << 20)
		r = CALL(deeper());
	else
		r = CALL(one());
	LEAVE;
	return r + 2;
}

static int (*volatile pointer)(void) = two;

static NOINLINE int in_signal(void)
{
	ENTER;
	if (is("nested-signal"))
		CALL(raise(SIGUSR1));
	LEAVE;
	return 1;
}

static int compare(const void *a, const void *b)
{
	ENTER;
	CALL(crash(*(const int *)a));
	LEAVE;
	return *(const int *)b;
}

static NOINLINE int deeper(void)
{
	int r, pair[2] = {2, 1};

	ENTER;
	seed = seed * 1664525 + 1013904223;
	if (left-- <= 0) {
		if (is("signal") || is("nested-signal")) {
			r = CALL(raise(SIGUSR1));
		} else if (is("callback")) {
			kind = "null";
			CALL(qsort(pair, 2, sizeof(*pair), compare));
			r = pair[0];
		} else if (is("tail")) {
			r = CALL(tail_crash(left));
		} else {
			r = CALL(crash(left));
		}
	} else if (seed >> 30 == 0) {
		r = CALL(pointer());
	} else if (seed >> 30 == 1) {
		r = CALL(two());
	} else {
		r = CALL(deeper());
	}
	LEAVE;
	return r + in_signal();
}

static void *thread(void *name)
{
	char here;

	ENTER;
	kind = name;
	stack_end = &here + 512;
	CALL(deeper());
	LEAVE;
	return NULL;
}

static sem_t waits;

static NOINLINE void wait_here(void)
{
	sem_post(&waits);
	pause();
	__asm__ volatile("");
}

static void *other(void *unused)
{
	(void)unused;
	wait_here();
	return NULL;
}

static jmp_buf back;
static ucontext_t outer, inner;
static char coroutine_stack[1 << 20] __attribute__((aligned(4096)));

static void coroutine(void)
{
	n_chain = 0;
	ENTER;
	kind = "null";
	stack_end = coroutine_stack + sizeof(coroutine_stack);
	CALL(deeper());
	LEAVE;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler};
	char **word = argv;
	pthread_t t;

	if (argc < 3)
		return 97;
	kind = argv[1];
	left = atoi(argv[2]);
	sigaction(SIGUSR1, &action, NULL);
	/* As far as the arguments: the kernel keeps these. */
	stack_end = (char *)word;
	ENTER;
	if (is("thread")) {
		int saved = n_chain;

		n_chain = 0;
		if (sem_init(&waits, 0, 0) || pthread_create(&t, NULL, other, NULL) ||
		    sem_wait(&waits) || pthread_create(&t, NULL, thread, "null"))
			return 96;
		pthread_join(t, NULL);
		n_chain = saved;
	} else if (is("jump")) {
		if (!setjmp(back)) {
			kind = "jump2";
			longjmp(back, 1);
		}
		kind = "null";
		CALL(deeper());
	} else if (is("coroutine")) {
		getcontext(&inner);
		inner.uc_stack.ss_sp = coroutine_stack;
		inner.uc_stack.ss_size = sizeof(coroutine_stack);
		inner.uc_link = &outer;
		makecontext(&inner, coroutine, 0);
		swapcontext(&outer, &inner);
	} else {
		CALL(deeper());
	}
	LEAVE;
	return 95;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes tasks that run in the memory of their creator and use its thread page:
 *
 *   beside    clone() with CLONE_VM: both run at the same time.
 *   failing   the same, but each clone() fails.
 *   waiting   clone() with CLONE_VM and CLONE_VFORK: the creator waits, and the task ends deep in
 *             its calls.
 *   syscall   syscall(SYS_clone) with CLONE_VM.
 *   refused   the same, but each fails.
 *   raw       the same by an instruction, which the runtime does not see.
 *
 * tasks WHAT THREADS ROUNDS.  Prints how many tasks have ended well.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK (256 * 1024)
#define SLOTS 16
#define REFUSED (CLONE_SIGHAND | CLONE_FS | CLONE_NEWNS) /* no kernel accepts these flags */

static volatile unsigned long sum[SLOTS];
static const char *what;
static int rounds;

static NOINLINE void spin(int slot, int n)
{
	for (int i = 0; i < n; i++)
		sum[slot] += (unsigned long)i;
}

static void (*volatile pointer)(int, int) = spin;

static NOINLINE int deep(int slot, int n)
{
	int r = 0;

	if (n % 3 == 1)
		pointer(slot, 200);
	if (n > 0)
		r = n % 2 ? deep(slot, n - 1) : deep(slot, n - 1) + 1;
	else
		spin(slot, 2000);
	sum[slot]++;
	return r;
}

static NOINLINE void work(int slot, int n)
{
	for (int i = 0; i < n; i++)
		deep(slot, i % 80);
}

static NOINLINE void of_task(int slot)
{
	jmp_buf env;

	work(slot, 300);
	if (!setjmp(env)) {
		deep(slot, 5);
		longjmp(env, 1);
	}
	work(slot, 20);
}

static NOINLINE int ends_deep(int slot, int n)
{
	if (n > 0)
		return ends_deep(slot, n - 1) + 1;
	of_task(slot);
	_exit(0);
}

static NOINLINE int task(void *slot)
{
	if (!strcmp(what, "waiting"))
		return ends_deep((int)(long)slot, 20);
	of_task((int)(long)slot);
	return 0;
}

static NOINLINE void task_of_system_call(void)
{
	of_task(1);
	syscall(SYS_exit, 0);
	__builtin_trap();
}

/* A new task pops from its stack what it is to call. */
static long system_call(char *stack)
{
	void **top = (void **)(stack + STACK - 64);
	long ret = SYS_clone;
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;

	*top = (void *)task_of_system_call;
	if (!strcmp(what, "syscall"))
		return syscall(SYS_clone, CLONE_VM | SIGCHLD, top, 0, 0, 0);
	if (!strcmp(what, "refused"))
		return syscall(SYS_clone, CLONE_VM | REFUSED, top, 0, 0, 0);
	__asm__ volatile("syscall\n	testq %0, %0\n	jnz 1f\n	ret\n1:"
			 : "+a"(ret), "+r"(r10), "+r"(r8)
			 : "D"(CLONE_VM | SIGCHLD), "S"(top), "d"(0L)
			 : "rcx", "r11", "memory", "cc");
	return ret;
}

static NOINLINE int begin(int slot, char *stack)
{
	int flags = CLONE_VM | SIGCHLD;

	if (!strcmp(what, "syscall") || !strcmp(what, "refused") || !strcmp(what, "raw"))
		return (int)system_call(stack);
	if (!strcmp(what, "waiting"))
		flags |= CLONE_VFORK;
	if (!strcmp(what, "failing"))
		flags |= REFUSED;
	return clone(task, stack + STACK, flags, (void *)(long)(slot + 1));
}

static NOINLINE int beside(int slot)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pid = begin(slot, stack), status = -1;

	if (pid > 0) {
		work(slot, 100);
		while (waitpid(pid, &status, 0) < 0)
			;
	} else {
		work(slot, 100);
		status = strcmp(what, "failing") && strcmp(what, "refused");
	}
	munmap(stack, STACK);
	return status == 0;
}

static int (*volatile by_pointer)(int) = beside;

static NOINLINE int nested(int slot, int n)
{
	int r = n ? nested(slot, n - 1) : by_pointer(slot);

	work(slot, 5);
	return r;
}

static void *many(void *slot)
{
	long good = 0;

	for (int i = 0; i < rounds; i++)
		good += nested((int)(long)slot, i % 40);
	work((int)(long)slot, 200);
	return (void *)good;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[2]) : 1;
	pthread_t thread[SLOTS / 2];
	long good = 0;

	what = argv[1];
	rounds = atoi(argv[argc - 1]);
	for (long i = 1; i < threads; i++)
		pthread_create(&thread[i], NULL, many, (void *)(2 * i));
	good = (long)many(NULL);
	for (int i = 1; i < threads; i++) {
		void *of_thread;

		pthread_join(thread[i], &of_thread);
		good += (long)of_thread;
	}
	printf("%ld\n", good);
	return 0;
}

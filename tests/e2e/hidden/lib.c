/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The library of main.c.  It calls the functions of the C library that the runtime replaces:
 * pthread_create, sigaction, setjmp and longjmp.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void lib_spin(void)
{
	for (unsigned long i = 0; i < 20000000; i++)
		sink += i;
}

__attribute__((noinline)) void lib_call(void (*back)(void))
{
	lib_spin();
	if (back)
		back();
	sink++;
}

/* Jumps over the frames of the program and the library to the program's setjmp. */
__attribute__((noinline)) void lib_throw(jmp_buf *to)
{
	lib_spin();
	longjmp(*to, 1);
}

/* The jump of back() ends here. */
static jmp_buf here;

__attribute__((noinline)) void lib_catch(void (*back)(jmp_buf *))
{
	if (!setjmp(here))
		back(&here);
	lib_spin();
	sink++;
}

static void *lib_body(void *back)
{
	((void (*)(void))back)();
	sink++;
	return NULL;
}

__attribute__((noinline)) void lib_thread(void (*back)(void))
{
	pthread_t t;

	if (!pthread_create(&t, NULL, lib_body, (void *)back))
		pthread_join(t, NULL);
	sink++;
}

__attribute__((noinline)) void lib_handler(int number, void (*handler)(int))
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = handler;
	sigaction(number, &a, NULL);
	sink++;
}

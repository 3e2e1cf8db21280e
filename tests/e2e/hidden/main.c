/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A program whose link hides its symbols.  It opens the library of lib.c, or is linked with
 * it, and they call each other by calls, jumps, threads and signals.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static volatile unsigned long sink;
static volatile sig_atomic_t handled;

#ifdef LINKED
void lib_call(void (*back)(void));
void lib_throw(jmp_buf *to);
void lib_catch(void (*back)(jmp_buf *));
void lib_thread(void (*back)(void));
void lib_handler(int number, void (*handler)(int));
#else
static void (*lib_call)(void (*)(void));
static void (*lib_throw)(jmp_buf *);
static void (*lib_catch)(void (*)(jmp_buf *));
static void (*lib_thread)(void (*)(void));
static void (*lib_handler)(int, void (*)(int));
#endif

__attribute__((noinline)) static void spin(void)
{
	for (unsigned long i = 0; i < 20000000; i++)
		sink += i;
}

__attribute__((noinline)) static void back(void)
{
	spin();
	sink++;
}

__attribute__((noinline)) static void thread_back(void)
{
	lib_call(back);
	spin();
	sink++;
}

__attribute__((noinline)) static void in_handler(void)
{
	spin();
	sink++;
}

static void on_signal(int number)
{
	in_handler();
	handled += number == SIGUSR1;
}

__attribute__((noinline)) static void interrupted(void)
{
	raise(SIGUSR1);
	spin();
	sink++;
}

static jmp_buf there;

__attribute__((noinline)) static void thrower(void)
{
	lib_throw(&there);
	sink++;
}

__attribute__((noinline)) static void catcher(void)
{
	if (!setjmp(there))
		lib_call(thrower);
	spin();
	sink++;
}

__attribute__((noinline)) static void jump_back(jmp_buf *to)
{
	spin();
	longjmp(*to, 1);
}

__attribute__((noinline)) static void work(void)
{
	lib_call(back);
	spin();
	catcher();
	spin();
	lib_catch(jump_back);
	spin();
	lib_thread(thread_back);
	spin();
	interrupted();
	spin();
	sink++;
}

int main(int argc, char **argv)
{
#ifdef LINKED
	(void)argc, (void)argv;
#else
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	lib_call = (void (*)(void (*)(void)))dlsym(lib, "lib_call");
	lib_throw = (void (*)(jmp_buf *))dlsym(lib, "lib_throw");
	lib_catch = (void (*)(void (*)(jmp_buf *)))dlsym(lib, "lib_catch");
	lib_thread = (void (*)(void (*)(void)))dlsym(lib, "lib_thread");
	lib_handler = (void (*)(int, void (*)(int)))dlsym(lib, "lib_handler");
#endif
	lib_handler(SIGUSR1, on_signal);
	for (int i = 0; i < 2; i++)
		work();
	printf("%d\n", (int)handled);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes page faults below tail calls: tail [ROUNDS]. Each outer_...() makes one in each round, in
 * touch(). Which functions have passed the call on:
 *
 *   outer_leave()    leave(), which leaves the library for inner()
 *   outer_passed()   pass_on() and leave_later() of the library, and by_pointer()
 *   outer_chain()    first(), second(), and a pointer to one of two functions
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef ASK
#include <pcce.h>

static struct pcce_contexts *set;
static int answer;
#endif

#define NOINLINE __attribute__((noinline, noclone))
#define NO_TAIL_CALL __asm__ volatile("")

void leave(int rounds);
void pass_on(int rounds);

NOINLINE void touch(void)
{
	volatile char *p =
		mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*p = 1;
	munmap((void *)p, 4096);
}

void inner(int rounds)
{
	touch();
#ifdef ASK
	if (set)
		answer = pcce_on_context(set);
#endif
	NO_TAIL_CALL;
}

NOINLINE void one(int rounds)
{
	touch();
	NO_TAIL_CALL;
}

NOINLINE void two(int rounds)
{
	touch();
	NO_TAIL_CALL;
}

static void (*volatile pointer)(int) = one;

void by_pointer(int rounds)
{
	pointer(rounds + 1);
}

NOINLINE void second(int rounds)
{
	pointer(rounds + 1);
}

NOINLINE void first(int rounds)
{
	second(rounds + 1);
}

NOINLINE void outer_leave(int rounds)
{
	leave(rounds);
	NO_TAIL_CALL;
}

NOINLINE void outer_passed(int rounds)
{
	pass_on(rounds);
	NO_TAIL_CALL;
}

NOINLINE void outer_chain(int rounds)
{
	first(rounds);
	NO_TAIL_CALL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	for (int i = 0; i < rounds; i++) {
		pointer = i % 2 ? one : two;
		outer_leave(i);
		outer_passed(i);
		outer_chain(i);
	}
#ifdef ASK
	if (argc > 2 && pcce_contexts_open(&set, argv[2])) {
		printf("no set\n");
		return 1;
	}
	outer_leave(0);
	printf("%d\n", answer);
#endif
	return 0;
}

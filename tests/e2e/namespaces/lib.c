/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A library that is opened in some way.  It calls, jumps, takes signals, and calls back.  With
 * -DAUDIT, it is one for auditing (rtld-audit(7)), and works at each binding of a symbol.
 */
#define _GNU_SOURCE
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void lib_spin(int n)
{
	for (int i = 0; i < n * 1000; i++)
		sink += (unsigned long)i;
}

__attribute__((noinline)) static int lib_recursion(int n)
{
	int r = n ? lib_recursion(n - 1) + 1 : 0;

	if (!n)
		lib_spin(300);
	sink++;
	return r;
}

#ifdef AUDIT
unsigned int la_version(unsigned int version)
{
	return version;
}

unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	(void)map, (void)namespace, (void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int n, uintptr_t *from, uintptr_t *to,
		       unsigned int *flags, const char *name)
{
	(void)n, (void)from, (void)to, (void)flags, (void)name;
	lib_recursion(20);
	return symbol->st_value;
}
#else
static jmp_buf here;

__attribute__((noinline)) static void lib_jump(int n)
{
	if (n)
		lib_jump(n - 1);
	else
		longjmp(here, 1);
	sink++;
}

__attribute__((noinline)) static int lib_compare(const void *a, const void *b)
{
	lib_spin(30);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void lib_handler(int sig)
{
	(void)sig;
	lib_spin(300);
	sink++;
}

void lib_entry(void (*back)(int))
{
	int numbers[8] = {3, 1, 2, 5, 4, 8, 7, 6};

	lib_recursion(40);
	if (!setjmp(here))
		lib_jump(5);
	lib_spin(300);
	qsort(numbers, 8, sizeof(*numbers), lib_compare);
	signal(SIGUSR1, lib_handler);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	back(3);
	lib_spin(100);
}
#endif

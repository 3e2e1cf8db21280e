/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A library that is loaded in one window and calls back in others. */
__attribute__((noinline)) static void call_some(void (*f)(void), int n)
{
	for (int i = 0; i < n; i++)
		f();
	__asm__ volatile("" ::: "memory");
}

void call_often(void (*f)(void), int n)
{
	call_some(f, n / 2);
	call_some(f, n - n / 2);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Handlers interrupt a recursion.  Prints how often each function was entered. */
#include <stdio.h>
#include "alarms.h"
static volatile unsigned int f_calls, g_calls, handlers;
__attribute__((noinline)) static void g(unsigned int n)
{
	g_calls++;
	if (n)
		g(n - 1);
}
static void on_alarm(int sig)
{
	(void)sig;
	handlers++;
	g(handlers % 40);
}
__attribute__((noinline)) static void f(unsigned int n)
{
	f_calls++;
	if (n)
		f(n - 1);
}
int main(void)
{
	begin_alarms(on_alarm);
	while (handlers < 2000)
		f(f_calls % 90);
	end_alarms();
	printf("f %u\ng %u\non_alarm %u\nmain 1\n", f_calls, g_calls, handlers);
	return 0;
}

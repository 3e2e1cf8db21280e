/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Handlers interrupt a recursion, and some leave it with a jump.  Prints the entries into g and the
 * handlers. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include "alarms.h"
static volatile unsigned int f_calls, g_calls, handlers, turns;
static sigjmp_buf back;
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
	if (handlers % 50 == 0)
		siglongjmp(back, 1);
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
	sigsetjmp(back, 1);
	while (handlers < 3000)
		f(turns++ % 90);
	end_alarms();
	printf("%u %u\n", g_calls, handlers);
	return 0;
}

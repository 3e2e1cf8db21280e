/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Handlers interrupt the C library.  Prints the number of calls. */
#include <stdio.h>
#include "alarms.h"
static volatile unsigned int leaves, handlers;
static char buffer[3000];
__attribute__((noinline)) static void leaf(void)
{
	leaves++;
}
static void on_alarm(int sig)
{
	(void)sig;
	handlers++;
	leaf();
}
int main(void)
{
	begin_alarms(on_alarm);
	while (handlers < 2000) {
		leaf();
		snprintf(buffer, sizeof(buffer), "%g %0200d", handlers / 3.0, 7);
	}
	end_alarms();
	printf("%u\n", leaves + handlers + 1);
	return 0;
}

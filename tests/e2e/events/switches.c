/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Usage: switches N.  Sleeps N times, and prints how many context switches the process has had. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

__attribute__((noinline)) static void rest(void)
{
	const struct timespec t = {0, 100000};

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	struct rusage used;

	for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--)
		rest();
	if (getrusage(RUSAGE_SELF, &used))
		return 1;
	printf("%ld\n", used.ru_nvcsw + used.ru_nivcsw);
	return 0;
}

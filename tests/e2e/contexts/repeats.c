/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints the name of one context of a deep recursion, of threads with different pasts.  A thread
 * counts repetitions only if it has places for the segments below, so its past decides how its
 * encoding stack holds them.
 */
#include <pcce.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct pcce_id found[3];

static __attribute__((noinline)) unsigned int hop(unsigned int depth, struct pcce_id *id)
{
	unsigned int n;

	if (!depth) {
		*id = pcce_context_id();
		return 1;
	}
	n = hop(depth - 1, id);
	__asm__ volatile("" : "+r"(n)); /* no loop */
	return n + 1;
}

static void *run(void *past)
{
	struct pcce_id *id = found, other;

	for (int i = 0; i < 3; i++) {
		hop(100, id++);
		if (past)
			hop(1000, &other);
	}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, run, i ? &t : NULL) || pthread_join(t, NULL))
			abort();
		for (int k = 0; k < 3; k++) {
			char text[PCCE_TEXT_SIZE];

			puts(pcce_context_text(found[k], text));
		}
	}
	return 0;
}

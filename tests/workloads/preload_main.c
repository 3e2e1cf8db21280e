/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls a preloaded malloc (preload_malloc.c): directly, from the C library, from a thread, and
 * from the dynamic linker. */
#include <pthread.h>
#include <string.h>
#include "burn.h"

static _Thread_local char *mine;

static NOINLINE char *get(size_t n)
{
	char *p = malloc(n);

	if (p)
		memset(p, 1, n);
	return p;
}

static NOINLINE char *more(char *p, size_t n)
{
	return realloc(p, n);
}

static NOINLINE unsigned int copy(const char *text)
{
	char *p = strdup(text);
	unsigned int n = p ? p[0] : 0;

	burn(5);
	free(p);
	return n;
}

static void *thread(void *arg)
{
	mine = get((size_t)arg);
	return more(mine, 300);
}

int main(void)
{
	unsigned int sum = 0;
	pthread_t t;
	void *result;

	for (size_t i = 0; i < 8; i++) {
		char *p = more(get(i + 3), 100);

		free(p);
		sum += copy("text") + !p;
		if (i % 4)
			continue;
		if (pthread_create(&t, NULL, thread, (void *)i) == 0 &&
		    pthread_join(t, &result) == 0)
			sum += result != NULL;
	}
	printf("%u\n", sum);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Makes one mistake for each word that it understands. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE int *make(int n)
{
	int *p = malloc(n * sizeof(int));

	memset(p, 1, n * sizeof(int));
	return p;
}

static NOINLINE int past_the_end(int *p, int n)
{
	return p[n];
}

static NOINLINE int overflow(int n)
{
	int *p = make(n), r = past_the_end(p, n);

	free(p);
	return r;
}

static int *volatile kept;

static NOINLINE int *leave(void)
{
	int local[8];

	kept = local;
	kept[2] = 5;
	return kept;
}

static NOINLINE int use_after_return(void)
{
	int *p = leave();

	return p[2];
}

/* Many, because a register may still hold the last one. */
static NOINLINE void leak(void)
{
	for (int i = 0; i < 50; i++) {
		char *volatile p = malloc(123);

		memset(p, 0, 123);
	}
}

static volatile int large = 0x7fffffff;

static NOINLINE int too_large(int n)
{
	return large + n;
}

static int shared;
static pthread_barrier_t barrier;

static NOINLINE void touch(int n)
{
	shared += n;
}

static NOINLINE void *thread(void *arg)
{
	if (arg)
		pthread_barrier_wait(&barrier);
	touch(1);
	if (arg)
		pthread_barrier_wait(&barrier);
	return NULL;
}

static NOINLINE void race(void *together)
{
	pthread_t a, b;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&a, NULL, thread, together);
	pthread_create(&b, NULL, thread, together);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_barrier_destroy(&barrier);
}

int main(int argc, char **argv)
{
	const char *word = argc == 2 ? argv[1] : "";
	int r = 0;

	if (!strcmp(word, "overflow"))
		r = overflow(10);
	else if (!strcmp(word, "return"))
		r = use_after_return();
	else if (!strcmp(word, "leak"))
		leak();
	else if (!strcmp(word, "undefined"))
		r = too_large(argc);
	else if (!strcmp(word, "race"))
		race(NULL);
	else if (!strcmp(word, "race-together"))
		race(&shared);
	else
		return 2;
	return r == 12345;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps account of what a random program allocates and frees, and lets it wait for another thread.
 *
 * At its end, the program writes to the file that ACCOUNT names, for each function that has
 * allocated: its name, and the bytes that it has allocated, that were live at the end, and at the
 * peak of all functions. In a last line is the number of waits. The same number of calls always
 * does the same.
 *
 * The thread that ends a wait does so in answer_odd() if the function that waits has an odd number,
 * else in answer_even().
 *
 * If GO names a file, the program waits at its beginning until it exists. Meanwhile it calls
 * account_wait(), so that whoever records these calls sees it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "account.h"

enum { FUNCTIONS = 64, KEPT = 200, BETWEEN_WAITS = 5, WAITS = 60 };

static struct function_account {
	size_t all, live, peak; /* bytes */
} of[FUNCTIONS];

static struct allocation {
	void *p;
	size_t size;
	int function;
} kept[KEPT];

static size_t total, most, size;
static uint64_t state = 1;
static sem_t question, answer;
static int asks; /* the function that waits; -1: the program ends */
static int waits;
static pthread_t thread;
static char output[4096];

static unsigned int below(unsigned int n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % n;
}

size_t account_size(void)
{
	size = 1 + below(3000);
	return size;
}

static void note_peak(void)
{
	if (total <= most)
		return;
	most = total;
	for (int i = 0; i < FUNCTIONS; i++)
		of[i].peak = of[i].live;
}

void account_keep(int function, void *p)
{
	struct allocation *a = &kept[below(KEPT)];

	of[function].all += size;
	of[function].live += size;
	total += size;
	note_peak();
	if (a->p) {
		of[a->function].live -= a->size;
		total -= a->size;
		free(a->p);
	}
	*a = (struct allocation){p, size, function};
}

__attribute__((noipa)) void account_wait(int function)
{
	static int calls;

	if (function < 0 || calls++ % BETWEEN_WAITS || waits == WAITS)
		return;
	waits++;
	asks = function;
	sem_post(&question);
	while (sem_wait(&answer))
		;
}

__attribute__((noipa)) static int answer_odd(void)
{
	return sem_post(&answer) + 1;
}

__attribute__((noipa)) static int answer_even(void)
{
	return sem_post(&answer) + 2;
}

static void *answer_all(void *nothing)
{
	for (;;) {
		while (sem_wait(&question))
			;
		if (asks < 0)
			return nothing;
		usleep(300); /* until it sleeps */
		if (asks % 2)
			answer_odd();
		else
			answer_even();
	}
}

__attribute__((constructor)) static void begin_account(void)
{
	const char *go = getenv("GO");

	while (go && access(go, F_OK)) {
		usleep(10000);
		account_wait(-1);
	}
	/* The C library would allocate them. */
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	sem_init(&question, 0, 0);
	sem_init(&answer, 0, 0);
	pthread_create(&thread, NULL, answer_all, NULL);
}

/* fprintf() and dprintf() would allocate buffers, perhaps at a new peak. */
__attribute__((format(printf, 2, 3))) static void print(int fd, const char *format, ...)
{
	char line[128];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(fd, line, (size_t)n) != n)
		_exit(EXIT_FAILURE);
}

__attribute__((destructor)) static void end_account(void)
{
	const char *path = getenv("ACCOUNT");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;

	for (int i = 0; fd >= 0 && i < FUNCTIONS; i++)
		if (of[i].all)
			print(fd, "f%d %zu %zu %zu\n", i, of[i].all, of[i].live, of[i].peak);
	if (fd >= 0)
		print(fd, "waits %d\n", waits);
	asks = -1;
	sem_post(&question);
	pthread_join(thread, NULL);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * waits KIND...: a thread for each kind waits in its own way for about a second; main waits for
 * them.  Prints for each thread its kind, its number, and the ns that it had no CPU, as schedstat
 * and the clock say.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROUNDS 100

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sum;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static NOINLINE void spin(void)
{
	for (long i = 0; i < 20000; i++)
		sum += (unsigned long)i;
}

static NOINLINE void sleeper(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		usleep(10000);
		spin();
	}
}

static NOINLINE void holder(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		usleep(10000);
		pthread_mutex_unlock(&lock);
		usleep(2000);
	}
}

static NOINLINE void locker(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		usleep(1000);
		pthread_mutex_lock(&lock);
		spin();
		pthread_mutex_unlock(&lock);
	}
}

static NOINLINE void reader(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		abort();
	if (!fork()) {
		for (int i = 0; i < ROUNDS; i++) {
			usleep(10000);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	while (read(ends[0], &byte, 1) == 1)
		spin();
	close(ends[0]);
	wait(NULL);
}

static NOINLINE void nap(void)
{
	usleep(10000);
}

/* Neighbouring calls differ, so each has an entry: more than a segment of the stack has. */
static NOINLINE unsigned int deep(unsigned int n, void (*end)(void))
{
	if (!n) {
		end();
		return 0;
	}
	if (n & 1)
		n = deep(n - 1, end) + 1;
	else
		n = deep(n - 1, end) * 2;
	__asm__ volatile("" : "+r"(n));
	return n;
}

static NOINLINE void diver(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++)
		sum += deep(i % 5 * 20, nap);
}

static NOINLINE void runner(void)
{
	long long end = now() + 1000000000;

	while (now() < end)
		spin();
}

/* Waits when the recording ends. */
static NOINLINE void forever(void)
{
	for (int i = 0; i < 10; i++)
		usleep(1000);
	for (;;)
		pause();
}

static NOINLINE void napper(void)
{
	for (;;) {
		usleep(10000);
		spin();
	}
}

static NOINLINE void stuck(void)
{
	sum += deep(100, forever);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"sleeper", sleeper}, {"holder", holder}, {"locker", locker},
	     {"reader", reader},   {"diver", diver},   {"runner", runner},
	     {"forever", forever}, {"stuck", stuck},   {"napper", napper}};

static void *run(void *kind)
{
	long long begin = now();
	unsigned long long used = 0;
	char path[64];
	FILE *f;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, kind))
			kinds[i].run();
	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &used) != 1)
		abort();
	fclose(f);
	printf("%s %ld %lld\n", (char *)kind, syscall(SYS_gettid), now() - begin - (long long)used);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[16];

	for (int i = 1; i < argc; i++)
		if (pthread_create(&thread[i], NULL, run, argv[i]))
			abort();
	for (int i = 1; i < argc; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

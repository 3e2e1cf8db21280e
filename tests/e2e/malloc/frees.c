// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Allocates at random in threads, frees in others what they have allocated, and prints what is true
 * at its end: for each of its KINDS functions "live_N COUNT BYTES" and, with one thread, "peak_N
 * COUNT BYTES".
 *
 *   frees THREADS ROUNDS SEED [forever|fork]
 *
 * forever: until it is killed. fork: a child that frees all that it has inherited, and allocates,
 * runs in the middle.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KINDS 6
#define SLOTS 5000

/* At the start of each allocation. */
struct head {
	size_t size, kind;
};

struct sums {
	long count[KINDS], bytes[KINDS];
};

static struct head *slots[SLOTS];
static long rounds;
static unsigned long seed;
static int n_threads;
static bool forever;
/* Only with one thread. */
static struct sums live, peak;
static long live_bytes, peak_bytes;

#define MAKE(n, call)                                                        \
	__attribute__((noipa)) static void *make_##n(void *old, size_t size) \
	{                                                                    \
		void *p;                                                     \
                                                                             \
		(void)old;                                                   \
		call;                                                        \
		return p;                                                    \
	}
MAKE(0, p = malloc(size))
MAKE(1, p = calloc(1, size))
MAKE(2, p = realloc(old, size))
MAKE(3, p = aligned_alloc(64, size))
MAKE(4, p = posix_memalign(&p, 4096, size) ? NULL : p)
MAKE(5, p = reallocarray(old, size, 1))

static void *(*const makes[KINDS])(void *, size_t) = {make_0, make_1, make_2,
						      make_3, make_4, make_5};

static unsigned long next_random(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void note_kind(size_t kind, long count, long bytes)
{
	if (n_threads > 1)
		return;
	live.count[kind] += count;
	live.bytes[kind] += bytes;
	live_bytes += bytes;
	if (live_bytes > peak_bytes) {
		peak_bytes = live_bytes;
		peak = live;
	}
}

/* Returns a new allocation, maybe in place of the old one. */
static struct head *make_one(unsigned long *state, struct head *old)
{
	size_t kind = next_random(state) % KINDS;
	size_t size = sizeof(struct head) + next_random(state) % 300;
	struct head *p;

	if (next_random(state) % 200 == 0)
		size += 200000;
	size = kind == 3 ? (size + 63) / 64 * 64 : size;
	if (old) {
		note_kind(old->kind, -1, -(long)old->size);
		/* The others do not free it. */
		if (kind != 2 && kind != 5) {
			free(old);
			old = NULL;
		}
	}
	p = makes[kind](old, size);
	if (!p)
		exit(2);
	*p = (struct head){size, kind};
	note_kind(kind, 1, (long)size);
	return p;
}

static void drop_one(struct head *p)
{
	if (!p)
		return;
	note_kind(p->kind, -1, -(long)p->size);
	free(p);
}

static void *work(void *arg)
{
	unsigned long state = seed * 977 + (unsigned long)arg * 7919 + 1;

	for (long i = 0; i < rounds || forever; i++) {
		struct head **slot = &slots[next_random(&state) % SLOTS];
		struct head *p = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);

		if (p && next_random(&state) % 2) {
			drop_one(p);
			continue;
		}
		p = make_one(&state, p);
		drop_one(__atomic_exchange_n(slot, p, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[64];

	for (long i = 1; i < n_threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	work(NULL);
	for (int i = 1; i < n_threads; i++)
		pthread_join(threads[i], NULL);
}

static void run_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < SLOTS; i++) {
			free(slots[i]);
			slots[i] = NULL;
		}
		run_threads();
		for (int i = 0; i < SLOTS; i++)
			free(slots[i]);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		exit(3);
}

static void print_sums(const char *name, const struct sums *s)
{
	for (int i = 0; i < KINDS; i++)
		printf("%s_%d %ld %ld\n", name, i, s->count[i], s->bytes[i]);
}

int main(int argc, char **argv)
{
	struct sums left = {0};

	n_threads = argc > 1 ? atoi(argv[1]) : 4;
	rounds = argc > 2 ? atol(argv[2]) : 20000;
	seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	forever = argc > 4 && !strcmp(argv[4], "forever");
	run_threads();
	if (argc > 4 && !strcmp(argv[4], "fork"))
		run_child();
	for (int i = 0; i < SLOTS; i++)
		if (slots[i]) {
			left.count[slots[i]->kind]++;
			left.bytes[slots[i]->kind] += (long)slots[i]->size;
		}
	print_sums("live", &left);
	if (n_threads == 1)
		print_sums("peak", &peak);
	return 0;
}

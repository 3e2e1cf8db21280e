/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * walks COUNT [FILE]: asks for COUNT names of contexts on random walks through recursion, calls
 * through pointers, callbacks of the C library, signal handlers, threads and deep recursion.
 *
 * The program knows its own chain of calls: each call notes its line. So it checks that names and
 * chains belong to each other one to one, in all threads. It writes each name with its chain,
 * innermost function first, to FILE: "pcce:... function:line ...", sorted by whoever reads it.
 * A captured context must have as many entries as the encoding stack.
 *
 * With -DKEYS, it asks for keys (pcce_stack_id()) in place of names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcce.h>
#ifdef WITH_LIBRARY
#include "library.h"
#endif

#define DEPTH_MAX 4096
#define TABLE (1u << 20)
#define THREADS 4
#define NOINLINE __attribute__((noinline, noclone))

#ifdef KEYS
#define NAME() name_of_key(pcce_stack_id())
#else
#define NAME() pcce_context_id()
#endif

struct place {
	const char *function;
	int line;
};

struct chain {
	struct place at[DEPTH_MAX];
	int n;
	uint64_t random;
	long left;
};

static __thread struct chain chain;
static __thread long asked;

/* ---- names and chains ------------------------------------------------------------ */

struct pair {
	uint64_t chain[2];
	struct pcce_id id;
};

static struct pair by_chain[TABLE], by_id[TABLE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static long distinct, captured;

static void fail(const char *what)
{
	char text[PCCE_TEXT_SIZE];

	fprintf(stderr, "walks: %s, at %s\n", what, pcce_context_text(pcce_context_id(), text));
	for (int i = chain.n; i-- > 0;)
		fprintf(stderr, "  %s:%d\n", chain.at[i].function, chain.at[i].line);
	_exit(1);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

static void hash_chain(uint64_t h[2])
{
	h[0] = 1;
	h[1] = 2;
	for (int i = 0; i < chain.n; i++)
		for (int k = 0; k < 2; k++) {
			h[k] = mix(h[k], (uint64_t)chain.at[i].line);
			for (const char *c = chain.at[i].function; *c; c++)
				h[k] = mix(h[k], (unsigned char)*c + 77u * (unsigned)k);
		}
}

static int same_id(struct pcce_id a, struct pcce_id b)
{
	return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

static struct pair *find(struct pair *table, uint64_t key, const struct pair *p, int by)
{
	for (uint64_t i = key;; i++) {
		struct pair *at = &table[i % TABLE];

		if (at->chain[0] == 0 && at->chain[1] == 0)
			return at;
		if (by ? same_id(at->id, p->id)
		       : at->chain[0] == p->chain[0] && at->chain[1] == p->chain[1])
			return at;
	}
}

static void write_chain(struct pcce_id id)
{
	char text[PCCE_TEXT_SIZE];

	if (!out)
		return;
	fprintf(out, "%s", pcce_context_text(id, text));
	for (int i = chain.n; i-- > 0;)
		fprintf(out, " %s:%d", chain.at[i].function, chain.at[i].line);
	fputc('\n', out);
}

#ifdef KEYS
static struct pcce_id name_of_key(uint64_t key)
{
	struct pcce_id id = {{0}};

	memcpy(id.bytes, &key, sizeof(key));
	return id;
}
#endif

static void know(struct pcce_id id)
{
	struct pair p = {.id = id}, *c, *n;
	uint64_t key;

	hash_chain(p.chain);
	memcpy(&key, id.bytes, sizeof(key));
	c = find(by_chain, p.chain[0], &p, 0);
	n = find(by_id, key, &p, 1);
	if (!c->chain[0] && !n->chain[0]) {
		if (++distinct > TABLE / 2)
			fail("too many contexts");
		write_chain(id);
		*c = *n = p;
	} else if (!c->chain[0]) {
		fail("another context has this name");
	} else if (!n->chain[0]) {
		fail("this context has another name");
	} else if (!same_id(c->id, id) || n->chain[0] != p.chain[0]) {
		fail("two contexts have exchanged their names");
	}
	asked++;
}

static NOINLINE void know_locked(struct pcce_id id)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_mutex_lock(&lock);
	know(id);
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Room for all entries, or only for a few: the newest ones are the same. */
static NOINLINE void capture(void)
{
	union {
		struct pcce_context c;
		char bytes[sizeof(struct pcce_context) + DEPTH_MAX * sizeof(struct pcce_entry)];
	} all, few;
	int r = pcce_capture(&all.c, sizeof(all)),
	    s = pcce_capture(&few.c, sizeof(few.c) + 20 * sizeof(struct pcce_entry));

	if (r != 0)
		fail("a context is not captured as a whole");
	if (few.c.n_entries != (all.c.n_entries > 20 ? 20 : all.c.n_entries) ||
	    few.c.missing + few.c.n_entries != all.c.missing + all.c.n_entries ||
	    (s && (!few.c.missing || few.c.n_entries != 20)))
		fail("a context is not cut as it should");
	if (memcmp(pcce_context_entries(&few.c),
		   pcce_context_entries(&all.c) + all.c.n_entries - few.c.n_entries,
		   few.c.n_entries * sizeof(struct pcce_entry)) != 0)
		fail("a cut context has other entries");
	__atomic_add_fetch(&captured, 1, __ATOMIC_RELAXED);
}

/* ---- calls ----------------------------------------------------------------------- */

#define ENTER                                \
	chain.at[chain.n++] = (struct place) \
	{                                    \
		__func__, 0                  \
	}
#define LEAVE chain.n--
/* The call must be in the line of the macro. */
#define CALL(call) (chain.at[chain.n - 1].line = __LINE__, (call))

static unsigned int choose(unsigned int n)
{
	chain.random = chain.random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(chain.random >> 33) % n;
}

static void walk(void);
static void odd(void);
static void even(void);
static void deeper(int depth);
static void (*const pointers[])(void) = {walk, odd, even};

static NOINLINE void ask(void)
{
	struct pcce_id id;

	ENTER;
	CALL(id = NAME());
	know_locked(id);
	if (choose(16) == 0)
		capture();
	LEAVE;
}

static NOINLINE void ask_twice(void)
{
	struct pcce_id id;

	ENTER;
	CALL(id = NAME());
	know_locked(id);
	CALL(id = NAME());
	know_locked(id);
	LEAVE;
}

static NOINLINE int compare(const void *a, const void *b)
{
	ENTER;
	CALL(ask());
	if (chain.n < 12) {
		CALL(walk());
	}
	LEAVE;
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void odd(void)
{
	ENTER;
	CALL(ask_twice());
	if (choose(2))
		CALL(even());
	LEAVE;
}

static NOINLINE void even(void)
{
	ENTER;
	CALL(ask());
	if (choose(2))
		CALL(odd());
	LEAVE;
}

static NOINLINE void deeper(int depth)
{
	ENTER;
	if (depth == 0) {
		CALL(ask());
	} else if (choose(3)) {
		CALL(deeper(depth - 1));
	} else {
		CALL(deeper(depth - 1));
	}
	if (choose(50) == 0) {
		CALL(ask_twice());
	}
	LEAVE;
}

static void handler(int sig)
{
	(void)sig;
	ENTER;
	CALL(ask());
	if (choose(40) == 0) {
		CALL(deeper(20 + (int)choose(3)));
	}
	LEAVE;
}

#ifdef WITH_LIBRARY
static NOINLINE void from_library(void)
{
	ENTER;
	CALL(ask());
	LEAVE;
}
#endif

static NOINLINE void walk(void)
{
	int two[2] = {2, 1};

	ENTER;
	CALL(ask());
	switch (chain.n > 10 ? 7 : choose(8)) {
	case 0:
		CALL(walk());
		break;
	case 1:
		CALL(odd());
		break;
	case 2:
		CALL(even());
		break;
	case 3:
		CALL(pointers[choose(3)]());
		break;
	case 4:
		CALL(qsort(two, 2, sizeof(*two), compare));
		break;
	case 5:
		CALL(raise(SIGUSR1));
		break;
	case 6:
#ifdef WITH_LIBRARY
		CALL(library_call(from_library));
#endif
		break;
	default:
		break;
	}
	CALL(ask_twice());
	LEAVE;
}

static NOINLINE void deep_walk(void)
{
	ENTER;
	/* Few different chains. */
	chain.random = 17 + choose(3);
	CALL(deeper(600));
	LEAVE;
}

static NOINLINE void run(uint64_t random)
{
	ENTER;
	for (long i = 0; asked < chain.left; i++) {
		chain.random = random + (uint64_t)i % 2000;
		if (i % 500 == 0)
			CALL(deep_walk());
		CALL(walk());
	}
	LEAVE;
}

static void *thread(void *count)
{
	ENTER;
	chain.left = *(long *)count;
	/* The same seed in all threads: their contexts are equal. */
	CALL(run(1));
	LEAVE;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler};
	long count = argc > 1 ? atol(argv[1]) : 1000, each = count / (THREADS + 1);
	pthread_t threads[THREADS];

	out = argc > 2 ? fopen(argv[2], "w") : NULL;
	if (argc > 2 && !out)
		return 1;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, &each))
			return 1;
	ENTER;
	chain.left = each;
	CALL(run(1));
	LEAVE;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld distinct, %ld captured\n", distinct, captured);
	return (out && fclose(out)) || fflush(stdout);
}

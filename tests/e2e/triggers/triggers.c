/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * triggers COUNT {EXPRESSION SET}...: tests COUNT times whether its context is in each set, on
 * random walks through recursion, calls through pointers, tail calls, callbacks of the C library,
 * signal handlers, threads, a library and deep recursion.
 *
 * The program knows its own chain of calls, and finds out by itself whether the expression fits. So
 * a wrong yes or no ends it. The answer may be unknown only where the chain has an unsure frame: a
 * tail call through a pointer, or in a static program a signal.
 */
#define _GNU_SOURCE
#include <fnmatch.h>
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
#define THREADS 3
#define SETS_MAX 64
#define PARTS_MAX 8
#define NOINLINE __attribute__((noinline, noclone))

/* ---- the truth ------------------------------------------------------------------- */

struct frame {
	const char *function; /* "": no function of the program */
	int unsure;
};

static __thread struct frame chain[DEPTH_MAX];
static __thread int n_chain;
static __thread uint64_t seed;
static __thread long left;

struct expression {
	const char *text;
	char *name[PARTS_MAX];
	int any[PARTS_MAX], n;
	struct pcce_contexts *set;
	long yes, no, unknown;
};

static struct expression expressions[SETS_MAX];
static int n_expressions;

static void parse(struct expression *e, const char *text)
{
	char *copy = strdup(text), *save = NULL;

	e->text = text;
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (strcmp(word, "<") != 0 && strcmp(word, "<<") != 0)
			e->name[e->n++] = word;
		else
			e->any[e->n - 1] = word[1] == '<';
	}
}

/* Does the chain fit from part k on, if the next frame outwards is `at`? */
static int fits(const struct expression *e, int k, int at)
{
	for (; at >= 0; at--) {
		if (!fnmatch(e->name[k], chain[at].function, 0) &&
		    (k + 1 == e->n || fits(e, k + 1, at - 1)))
			return 1;
		if (k && !e->any[k - 1])
			return 0;
	}
	return 0;
}

static int is_unsure(void)
{
	for (int i = 0; i < n_chain; i++)
		if (chain[i].unsure)
			return 1;
	return 0;
}

static NOINLINE void compare_answer(struct expression *e, int answer)
{
	int truth = fits(e, 0, n_chain - 1);

	__atomic_add_fetch(answer < 0 ? &e->unknown
			   : answer   ? &e->yes
				      : &e->no,
			   1, __ATOMIC_RELAXED);
	if (answer == truth || (answer < 0 && is_unsure()))
		return;
	fprintf(stderr, "'%s': the answer is %d, the truth %d, at\n", e->text, answer, truth);
	for (int i = n_chain; i-- > 0;)
		fprintf(stderr, "  %s\n", chain[i].function);
	_exit(1);
}

/* ---- calls ----------------------------------------------------------------------- */

#define ENTER                             \
	chain[n_chain++] = (struct frame) \
	{                                 \
		__func__, 0               \
	}
#define LEAVE n_chain--
/* Around a call of code that is not of the program. */
#define OUTSIDE(call)                                 \
	do {                                          \
		chain[n_chain++] = (struct frame){0}; \
		chain[n_chain - 1].function = "";     \
		call;                                 \
		n_chain--;                            \
	} while (0)

static unsigned int choose(unsigned int n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % n;
}

static void walk(void);
static void odd(void);
static void even(void);

/* ENTER and LEAVE are in the callers of tail calls. */
static NOINLINE void ask(void)
{
	ENTER;
	for (int i = 0; i < n_expressions; i++)
		compare_answer(&expressions[i], pcce_on_context(expressions[i].set));
	left--;
	LEAVE;
}

static NOINLINE void target(void)
{
	ENTER;
	ask();
	if (n_chain < 12)
		walk();
	LEAVE;
	/* The frame of the tail call. */
	LEAVE;
}

static NOINLINE void hop(void)
{
	ENTER;
	target();
}

static NOINLINE void other_hop(void)
{
	ENTER;
	if (choose(2)) {
		ask();
	}
	target();
}

static void (*volatile tail)(void) = target;

static NOINLINE void leaver(void)
{
	ENTER;
	chain[n_chain - 1].unsure = 1;
	tail();
}

static NOINLINE int compare(const void *a, const void *b)
{
	ENTER;
	ask();
	if (n_chain < 12)
		walk();
	LEAVE;
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void odd(void)
{
	ENTER;
	ask();
	if (choose(2))
		even();
	LEAVE;
}

static NOINLINE void even(void)
{
	ENTER;
	ask();
	if (choose(2))
		odd();
	LEAVE;
}

static NOINLINE void deeper(int depth)
{
	ENTER;
	if (depth == 0)
		ask();
	else if (choose(3))
		deeper(depth - 1);
	else
		deeper(depth - 1);
	if (choose(50) == 0)
		ask();
	if (choose(200) == 0)
		hop();
	LEAVE;
}

static void handler(int sig)
{
	(void)sig;
	ENTER;
	ask();
	if (choose(40) == 0)
		deeper(20 + (int)choose(3));
	LEAVE;
}

#ifdef WITH_LIBRARY
static NOINLINE void from_library(void)
{
	ENTER;
	ask();
	LEAVE;
}
#endif

static void (*const pointers[])(void) = {walk, odd, even, hop};

static NOINLINE void interrupt(void)
{
	ENTER;
	chain[n_chain++] = (struct frame){"", IS_STATIC};
	/* For the compiler, raise() changes nothing here. */
	__asm__ volatile("" : : : "memory");
	raise(SIGUSR1);
	n_chain--;
	LEAVE;
}

static NOINLINE void walk(void)
{
	int two[2] = {2, 1};

	ENTER;
	ask();
	switch (n_chain > 10 ? 9 : choose(10)) {
	case 0:
		walk();
		break;
	case 1:
		odd();
		break;
	case 2:
		even();
		break;
	case 3:
		pointers[choose(4)]();
		break;
	case 4:
		OUTSIDE(qsort(two, 2, sizeof(*two), compare));
		break;
	case 5:
		interrupt();
		break;
	case 6:
		hop();
		break;
	case 7:
		other_hop();
		break;
	case 8:
#ifdef WITH_LIBRARY
		chain[n_chain++] = (struct frame){"library_call", 0};
		chain[n_chain++] = (struct frame){"inner", 0};
		library_call(from_library);
		n_chain -= 2;
		chain[n_chain++] = (struct frame){"library_test", 0};
		for (int i = 0; i < n_expressions; i++)
			compare_answer(&expressions[i], library_test(expressions[i].set));
		n_chain--;
#endif
		leaver();
		break;
	default:
		break;
	}
	ask();
	LEAVE;
}

static NOINLINE void deep_walk(void)
{
	ENTER;
	deeper(600);
	LEAVE;
}

static NOINLINE void run(uint64_t random)
{
	ENTER;
	for (long i = 0; left > 0; i++) {
		seed = random + (uint64_t)i;
		if (i % 200 == 0)
			deep_walk();
		walk();
	}
	LEAVE;
}

static void *thread(void *count)
{
	ENTER;
	left = *(long *)count;
	run(1u << 20);
	LEAVE;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler};
	long count = argc > 1 ? atol(argv[1]) : 1000, each = count / (THREADS + 1);
	pthread_t threads[THREADS];

	for (int i = 2; i + 1 < argc && n_expressions < SETS_MAX; i += 2) {
		struct expression *e = &expressions[n_expressions++];
		int r = pcce_contexts_open(&e->set, argv[i + 1]);

		parse(e, argv[i]);
		if (r) {
			fprintf(stderr, "cannot open %s: %s\n", argv[i + 1], strerror(-r));
			return 1;
		}
	}
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, &each))
			return 1;
	ENTER;
	left = each;
	run(1);
	LEAVE;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < n_expressions; i++) {
		printf("%ld yes, %ld no, %ld unknown: %s\n", expressions[i].yes, expressions[i].no,
		       expressions[i].unknown, expressions[i].text);
		pcce_contexts_close(expressions[i].set);
	}
	return fflush(stdout);
}

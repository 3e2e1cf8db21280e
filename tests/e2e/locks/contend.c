/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * contend KIND...: for each kind of lock, a thread waits in waiter;KIND_want for what another
 * thread gives it in holder;KIND_give. Both take turns, so that each wait is contended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROUNDS 160

static volatile int finished;
static sem_t *taken; /* the holder has the lock; all threads and processes share it */
static volatile unsigned long sum;

static NOINLINE void work(void)
{
	usleep(2000);
}

/* ---- a lock that the holder takes and gives back ------------------------------------- */

#define LOCK_KIND(kind, type, prepare, take, give) \
	static type kind##_lock;                   \
	static NOINLINE void kind##_give(void)     \
	{                                          \
		take(&kind##_lock);                \
		sem_post(taken);                   \
		work();                            \
		give(&kind##_lock);                \
		sum++;                             \
	}                                          \
	static NOINLINE void kind##_want(void)     \
	{                                          \
		sem_wait(taken);                   \
		kind##_take_it();                  \
		give(&kind##_lock);                \
	}                                          \
	static void kind##_prepare(void)           \
	{                                          \
		prepare(&kind##_lock);             \
	}

#define TAKE_IT(kind, type, take)                 \
	static type kind##_lock;                  \
	static NOINLINE void kind##_take_it(void) \
	{                                         \
		take(&kind##_lock);               \
		sum++;                            \
	}

static void make_mutex(pthread_mutex_t *m, int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	if (pthread_mutex_init(m, &a))
		abort();
}

static void make_normal(pthread_mutex_t *m)
{
	make_mutex(m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}

static void make_recursive(pthread_mutex_t *m)
{
	make_mutex(m, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}

static void make_robust(pthread_mutex_t *m)
{
	make_mutex(m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
}

static void make_pi(pthread_mutex_t *m)
{
	make_mutex(m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
}

static void make_rwlock(pthread_rwlock_t *l)
{
	pthread_rwlock_init(l, NULL);
}

#define MUTEX(kind, make)                                  \
	TAKE_IT(kind, pthread_mutex_t, pthread_mutex_lock) \
	LOCK_KIND(kind, pthread_mutex_t, make, pthread_mutex_lock, pthread_mutex_unlock)
MUTEX(normal, make_normal)
MUTEX(recursive, make_recursive)
MUTEX(robust, make_robust)
MUTEX(pi, make_pi)
TAKE_IT(reader, pthread_rwlock_t, pthread_rwlock_rdlock)
LOCK_KIND(reader, pthread_rwlock_t, make_rwlock, pthread_rwlock_wrlock, pthread_rwlock_unlock)
TAKE_IT(writer, pthread_rwlock_t, pthread_rwlock_wrlock)
LOCK_KIND(writer, pthread_rwlock_t, make_rwlock, pthread_rwlock_rdlock, pthread_rwlock_unlock)

/* ---- what the holder signals or posts -------------------------------------------------- */

static pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int cond_ready;
static sem_t sem;

static void nothing(void)
{
}

static NOINLINE void cond_give(void)
{
	work();
	pthread_mutex_lock(&cond_lock);
	cond_ready++;
	pthread_mutex_unlock(&cond_lock);
	pthread_cond_broadcast(&cond);
	sum++;
}

static NOINLINE void cond_want(void)
{
	pthread_mutex_lock(&cond_lock);
	while (!cond_ready)
		pthread_cond_wait(&cond, &cond_lock);
	cond_ready--;
	pthread_mutex_unlock(&cond_lock);
}

static NOINLINE void sem_give(void)
{
	work();
	sem_post(&sem);
	sum++;
}

static NOINLINE void sem_want(void)
{
	sem_wait(&sem);
	sum++;
}

/* ---- many contexts -------------------------------------------------------------------- */

#define PATHS 16
#define LEVELS(path) (30 + 3 * (path))

static sem_t turns;
static int steps[2]; /* of waiter and holder */

static NOINLINE int left(int path, int level, void (*end)(void));

/* The calls of a path look random, so that the encoding stack has several segments. */
static int goes_left(int path, int level)
{
	return (unsigned int)path * 2654435761u >> level % 27 & 1;
}

static NOINLINE int right(int path, int level, void (*end)(void))
{
	if (level)
		return (goes_left(path, level) ? left : right)(path, level - 1, end) + (sum & 1);
	end();
	return 1;
}

static NOINLINE int left(int path, int level, void (*end)(void))
{
	if (level)
		return (goes_left(path, level) ? left : right)(path, level - 1, end) + (sum & 1);
	end();
	return 2;
}

static NOINLINE int deep(int n, int path, void (*end)(void))
{
	if (n)
		return deep(n - 1, path, end) + (sum & 1);
	return right(path, 20, end);
}

static void post_turn(void)
{
	sem_post(&turns);
	sum++;
}

static void wait_turn(void)
{
	sem_wait(&turns);
	sum++;
}

static void print_paths(void)
{
	for (int path = 0; path < PATHS; path++) {
		printf("%d r", path);
		for (int level = LEVELS(path); level; level--)
			putchar(goes_left(path, level) ? 'l' : 'r');
		putchar('\n');
	}
}

/* The context of each post is a function of that of the wait. */
static NOINLINE void paths_give(void)
{
	int path = (steps[1]++ * 5 + 3) % PATHS;

	work();
	right(path, LEVELS(path), post_turn);
}

static NOINLINE void paths_want(void)
{
	int path = steps[0]++ % PATHS;

	right(path, LEVELS(path), wait_turn);
}

/* ---- waits that nobody ends by an operation on the futex ------------------------------- */

static pthread_mutex_t timed_lock = PTHREAD_MUTEX_INITIALIZER;
static int word;

static NOINLINE void timed_give(void)
{
	work();
}

static NOINLINE void timed_want(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 2000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	if (pthread_mutex_timedlock(&timed_lock, &t) != ETIMEDOUT)
		abort();
}

static void timed_prepare(void)
{
	pthread_mutex_lock(&timed_lock);
}

static void on_signal(int number)
{
	(void)number;
	sum++;
}

static volatile pthread_t interrupted;

static void interrupted_prepare(void)
{
	struct sigaction s = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &s, NULL);
}

static NOINLINE void interrupted_give(void)
{
	work();
	if (interrupted)
		pthread_kill(interrupted, SIGUSR1);
}

static NOINLINE void interrupted_want(void)
{
	struct timespec t = {.tv_nsec = 100000000};

	interrupted = pthread_self();
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	interrupted = 0;
}

/* A condition variable of older libraries: its waiters go on to another futex. */
static int queue1, queue2;

static NOINLINE void requeue_give(void)
{
	work();
	syscall(SYS_futex, &queue1, FUTEX_REQUEUE_PRIVATE, 0, 1, &queue2, 0);
	work();
	syscall(SYS_futex, &queue2, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sum++;
}

static NOINLINE void requeue_want(void)
{
	struct timespec t = {.tv_nsec = 100000000};

	syscall(SYS_futex, &queue1, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	sum++;
}

/* ---- ends of threads, and processes ----------------------------------------------------- */

static NOINLINE void *join_give(void *arg)
{
	work();
	return arg;
}

static NOINLINE void join_want(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, join_give, NULL))
			abort();
		pthread_join(t, NULL);
	}
}

static pthread_mutex_t dying;

static NOINLINE void *death_give(void *arg)
{
	pthread_mutex_lock(&dying);
	sem_post(taken);
	work();
	return arg; /* with the lock */
}

static NOINLINE void death_want(void)
{
	make_robust(&dying);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, death_give, NULL))
			abort();
		sem_wait(taken);
		if (pthread_mutex_lock(&dying) != EOWNERDEAD)
			abort();
		pthread_mutex_consistent(&dying);
		pthread_mutex_unlock(&dying);
		pthread_join(t, NULL);
	}
}

static NOINLINE void process_give(sem_t *s)
{
	work();
	sem_post(s);
	sum++;
}

static NOINLINE void process_want(void)
{
	sem_t *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED || sem_init(s, 1, 0))
		abort();
	if (!fork()) {
		for (int i = 0; i < ROUNDS; i++)
			process_give(s);
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++)
		sem_wait(s);
	wait(NULL);
}

/* ---- a deadlock, and a crowd ------------------------------------------------------------- */

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void stuck_second(void)
{
	pthread_mutex_lock(&second);
	sum++;
}

static NOINLINE void *stuck_first(void *arg)
{
	pthread_mutex_lock(&first);
	usleep(50000);
	deep(100, 0, stuck_second);
	return arg;
}

static NOINLINE void stuck_want(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, stuck_first, NULL))
		abort();
	pthread_mutex_lock(&second);
	usleep(50000);
	pthread_mutex_lock(&first);
}

static pthread_mutex_t popular = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void crowd_want(void)
{
	pthread_mutex_lock(&popular);
	for (int i = 0; i < 2000; i++)
		sum++;
	pthread_mutex_unlock(&popular);
}

static NOINLINE void *one_of_crowd(void *arg)
{
	for (int i = 0; i < 100; i++)
		crowd_want();
	return arg;
}

static void crowd(void)
{
	static pthread_t threads[1000];
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	pthread_mutex_lock(&popular);
	for (size_t i = 0; i < 1000; i++)
		if (pthread_create(&threads[i], &a, one_of_crowd, NULL))
			abort();
	pthread_mutex_unlock(&popular);
	for (size_t i = 0; i < 1000; i++)
		pthread_join(threads[i], NULL);
}

/* ---- all together ------------------------------------------------------------------------ */

static const struct kind {
	const char *name;
	void (*prepare)(void), (*want)(void), (*give)(void);
} kinds[] = {
	{"normal", normal_prepare, normal_want, normal_give},
	{"recursive", recursive_prepare, recursive_want, recursive_give},
	{"robust", robust_prepare, robust_want, robust_give},
	{"pi", pi_prepare, pi_want, pi_give},
	{"reader", reader_prepare, reader_want, reader_give},
	{"writer", writer_prepare, writer_want, writer_give},
	{"cond", nothing, cond_want, cond_give},
	{"sem", nothing, sem_want, sem_give},
	{"paths", print_paths, paths_want, paths_give},
	{"timed", timed_prepare, timed_want, timed_give},
	{"interrupted", interrupted_prepare, interrupted_want, interrupted_give},
	{"requeue", nothing, requeue_want, requeue_give},
	{"join", nothing, join_want, NULL},
	{"death", nothing, death_want, NULL},
	{"process", nothing, process_want, NULL},
	{"stuck", nothing, stuck_want, NULL},
	{"crowd", nothing, crowd, NULL},
};

static NOINLINE void *waiter(void *arg)
{
	const struct kind *k = arg;

	for (int i = 0; i < (k->give ? ROUNDS : 1); i++)
		k->want();
	finished = 1;
	return NULL;
}

static NOINLINE void *holder(void *arg)
{
	const struct kind *k = arg;

	for (int i = 0; i < ROUNDS || (k->give == interrupted_give && !finished); i++) {
		k->give();
		usleep(500);
	}
	return NULL;
}

static void run(const struct kind *k)
{
	pthread_t w, h;

	finished = 0;
	k->prepare();
	if (pthread_create(&w, NULL, waiter, (void *)(uintptr_t)k) ||
	    (k->give && pthread_create(&h, NULL, holder, (void *)(uintptr_t)k)))
		abort();
	pthread_join(w, NULL);
	if (k->give)
		pthread_join(h, NULL);
}

int main(int argc, char **argv)
{
	taken = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (taken == MAP_FAILED || sem_init(taken, 1, 0) || sem_init(&sem, 0, 0) ||
	    sem_init(&turns, 0, 0))
		abort();
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (!strcmp(argv[i], kinds[k].name))
				run(&kinds[k]);
	return 0;
}

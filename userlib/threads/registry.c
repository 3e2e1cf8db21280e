// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the registry of threads: a liburcu list, and the grace period after which a thread's page
 * may disappear.
 *
 * Readers (pcce_threads_walk) may be signal handlers, crash handlers or collectors, in threads that
 * the runtime does not know. liburcu's flavours want every reader thread to register. urcu-bp does
 * that automatically, with a lock, a thread-specific key and a thread-local variable each. Walks
 * are rare, and threads do not end often. So the readers' mark is a counter common to all. There
 * are two counters, which take turns:
 *
 *   reader   i = turn; ++readers[i]; walk; --readers[i]
 *   writer   unlink; twice: { i = turn; turn = !i; wait for readers[i] == 0 }
 *
 * Why this is correct: all of these operations are sequentially consistent. If a reader increments
 * readers[i] before the writer's last look at that counter, the writer waits for it. If a reader
 * increments it later, it reads the list after the unlinking. So it cannot meet the element,
 * whichever counter it has chosen. Turns keep new readers from delaying a writer forever.
 *
 * There are two locks: list_lock for a change of the list, held for a few instructions, and
 * grace_lock for one grace period at a time. A thread that begins never waits for a walk. Readers
 * take neither.
 *
 * The locks are those of C11, which the C library implements without a call of
 * pthread_mutex_lock().  A function that interposes pthread_mutex_lock() must not see them.
 * ThreadSanitizer would conclude that all that a thread has done comes before all that later
 * threads do, and find no race between them.
 */
#include <errno.h>
#include <threads.h>
#include <time.h>
#include "internal.h"
#include "base/syscall.h"

static CDS_LIST_HEAD(threads);
static mtx_t list_lock, grace_lock;
static unsigned int turn;
static unsigned long readers[2];

void registry_init(void)
{
	mtx_init(&list_lock, mtx_plain);
	mtx_init(&grace_lock, mtx_plain);
}

static unsigned int read_lock(void)
{
	unsigned int i = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);

	__atomic_add_fetch(&readers[i], 1, __ATOMIC_SEQ_CST);
	return i;
}

static void read_unlock(unsigned int i)
{
	__atomic_sub_fetch(&readers[i], 1, __ATOMIC_SEQ_CST);
}

static void wait_for_readers(void)
{
	const struct timespec pause = {.tv_nsec = 50000};

	mtx_lock(&grace_lock);
	for (int round = 0; round < 2; round++) {
		unsigned int i = turn;

		__atomic_store_n(&turn, !i, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&readers[i], __ATOMIC_SEQ_CST))
			raw_syscall2(SYS_nanosleep, &pause, NULL);
	}
	mtx_unlock(&grace_lock);
}

void registry_add(struct pcce_thread *t)
{
	mtx_lock(&list_lock);
	cds_list_add_rcu(&t->node, &threads);
	t->listed = true;
	mtx_unlock(&list_lock);
}

void registry_remove(struct pcce_thread *t)
{
	if (!t->listed)
		return;
	mtx_lock(&list_lock);
	cds_list_del_rcu(&t->node);
	t->listed = false;
	mtx_unlock(&list_lock);
	wait_for_readers();
}

/* Taken around fork(): the child must find the list consistent. */
void registry_lock(void)
{
	mtx_lock(&list_lock);
}

void registry_unlock(void)
{
	mtx_unlock(&list_lock);
}

/* Holds the lock: no thread begins or ends meanwhile. */
void registry_each(void (*visit)(struct pcce_thread *t, void *arg), void *arg)
{
	struct pcce_thread *t;

	mtx_lock(&list_lock);
	cds_list_for_each_entry (t, &threads, node) {
		visit(t, arg);
	}
	mtx_unlock(&list_lock);
}

/* Runs in the child, where only self still lives. Calls dead() for all others, whose pages are
 * still mapped. */
void registry_after_fork(struct pcce_thread *self, void (*dead)(struct pcce_thread *t))
{
	struct pcce_thread *t, *next;

	cds_list_for_each_entry_safe(t, next, &threads, node)
	{
		if (t != self)
			dead(t);
	}
	CDS_INIT_LIST_HEAD(&threads);
	if (self->listed)
		cds_list_add_rcu(&self->node, &threads);
	registry_init();
	turn = 0;
	readers[0] = 0;
	readers[1] = 0;
}

__attribute__((visibility("default"))) int
pcce_threads_walk(int (*callback)(const struct pcce_page *page, void *arg), void *arg)
{
	int saved_errno = errno;
	unsigned int i = read_lock();
	struct pcce_thread *t;
	int ret = 0;

	cds_list_for_each_entry_rcu (t, &threads, node) {
		ret = callback(t->page, arg);
		if (ret)
			break;
	}
	read_unlock(i);
	errno = saved_errno;
	return ret;
}

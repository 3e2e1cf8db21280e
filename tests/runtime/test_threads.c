// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests how threads begin, end and are walked: joined and detached threads, pthread_exit,
 * cancellation, C11 threads, fork, the smallest stacks, areas, and walks from a signal handler
 * while threads come and go.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include "../../userlib/pcce.h"
#include "helpers.h"

static atomic_int good_pages, bad_pages, running;
static pthread_key_t key;
static atomic_int key_seen_live;
static _Atomic uint64_t areas[64]; /* of threads that wait to be cancelled */

static int count_one(const struct pcce_page *page, void *arg)
{
	(void)page;
	++*(int *)arg;
	return 0;
}

static int listed(void)
{
	int n = 0;

	pcce_threads_walk(count_one, &n);
	return n;
}

static int find_tid(const struct pcce_page *page, void *arg)
{
	return page->tid == *(const uint32_t *)arg && page->magic == PCCE_PAGE_MAGIC &&
	       (page->state & PCCE_STATE_LIVE);
}

static bool own_page_is_right(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	return pcce_page.magic == PCCE_PAGE_MAGIC && pcce_page.version == PCCE_PAGE_VERSION &&
	       pcce_page.size == PCCE_PAGE_SIZE && pcce_page.tid == tid &&
	       pcce_page.state == PCCE_STATE_LIVE &&
	       ((uintptr_t)&pcce_page & (PCCE_PAGE_ALIGN - 1)) == 0 &&
	       pcce_threads_walk(find_tid, &tid) == 1;
}

static void note_page(void)
{
	if (own_page_is_right() && pcce_page.off == 0 && pcce_page.id == 0)
		good_pages++;
	else
		bad_pages++;
}

static void *routine(void *how)
{
	note_page();
	pthread_setspecific(key, how);
	for (int i = 0; i < 300; i++) {
		pcce_page.id = (uint64_t)i;
		__asm__ volatile("leaq 1f(%%rip), %%r11\n subq $128, %%rsp\n call __pcce_push\n "
				 "addq $128, %%rsp\n1:" ::
					 : "r10", "r11", "memory", "cc");
	}
	switch ((intptr_t)how) {
	case 1:
		pthread_exit((void *)5);
	case 2:
		areas[running] = PCCE_AREA_ADDRESS(pcce_page.area);
		running++;
		for (;;)
			pause();
	case 3:
		running--;
		return NULL;
	}
	return how;
}

static void on_key(void *p)
{
	(void)p;
	if (pcce_page.state & PCCE_STATE_LIVE)
		key_seen_live++;
}

/* KB of address space in use. */
static unsigned long vm_size(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmSize: %lu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static bool is_mapped(uint64_t address)
{
	unsigned char v;

	return mincore((void *)(uintptr_t)address, 4096, &v) == 0 || errno != ENOMEM;
}

static bool eventually(bool (*condition)(void))
{
	for (int i = 0; i < 24000; i++) {
		if (condition())
			return true;
		usleep(5000);
	}
	return false;
}

static bool only_one(void)
{
	return listed() == 1;
}

static bool none_running(void)
{
	return running == 0;
}

static void test_many(void)
{
	pthread_t t[1000];
	pthread_attr_t attr;
	void *ret;
	bool good = true;
	int n = 0;

	good_pages = bad_pages = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	for (int i = 0; i < 1000; i++)
		n += pthread_create(&t[i], i & 1 ? &attr : NULL, routine,
				    (void *)(intptr_t)(i % 3 == 0 ? 1 : 4)) == 0;
	for (int i = 0; i < n; i++)
		good &= pthread_join(t[i], &ret) == 0 && (intptr_t)ret == (i % 3 == 0 ? 5 : 4);
	ok(n == 1000 && good,
	   "1,000 threads, half of them with the smallest stack, a third ending by pthread_exit");
	ok(good_pages == 1000 && bad_pages == 0, "each with its own announced page");
	ok(listed() == 1, "and none is left in the registry");
	ok(key_seen_live == 1000, "destructors of the program still ran under the page");

	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 65536);
	running = 200;
	n = 0;
	for (int i = 0; i < 200; i++)
		n += pthread_create(&t[i], &attr, routine, (void *)3) == 0;
	ok(n == 200 && eventually(none_running) && eventually(only_one),
	   "200 detached threads leave nothing behind");

	running = 0;
	for (int i = 0; i < 20; i++)
		pthread_create(&t[i], NULL, routine, (void *)2);
	while (running < 20)
		usleep(1000);
	n = listed();
	for (int i = 0; i < 20; i++)
		pthread_cancel(t[i]);
	for (int i = 0; i < 20; i++)
		good &= pthread_join(t[i], &ret) == 0 && ret == PTHREAD_CANCELED;
	ok(good && n == 21 && listed() == 1, "20 cancelled threads");
	ok(bad_pages == 0, "all pages were right");
	pthread_attr_destroy(&attr);
}

static int c11_routine(void *arg)
{
	note_page();
	if (*(int *)arg == 7)
		thrd_exit(-7);
	return *(int *)arg;
}

static void test_c11(void)
{
	int a = -3, b = 7, ra, rb;
	thrd_t ta, tb;

	good_pages = 0;
	ok(thrd_create(&ta, c11_routine, &a) == thrd_success &&
		   thrd_create(&tb, c11_routine, &b) == thrd_success &&
		   thrd_join(ta, &ra) == thrd_success && thrd_join(tb, &rb) == thrd_success &&
		   ra == -3 && rb == -7 && good_pages == 2,
	   "C11 threads, by return and by thrd_exit");
}

static atomic_bool churn;

static void *churner(void *arg)
{
	pthread_t t;

	(void)arg;
	while (churn)
		if (pthread_create(&t, NULL, routine, (void *)4) == 0)
			pthread_join(t, NULL);
	return NULL;
}

static atomic_ulong walked, torn;

static int look(const struct pcce_page *page, void *arg)
{
	(void)arg;
	walked++;
	if (page->magic != PCCE_PAGE_MAGIC || page->size != PCCE_PAGE_SIZE || page->tid == 0)
		torn++;
	return 0;
}

static void on_alarm(int signo)
{
	(void)signo;
	pcce_threads_walk(look, NULL);
}

static void test_walk(void)
{
	pthread_t t[4];
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	churn = true;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churner, NULL);
	for (int i = 0; i < 20000; i++) {
		if (i % 5 == 0)
			pthread_kill(t[i / 5 % 4], SIGUSR1);
		pcce_threads_walk(look, NULL);
	}
	churn = false;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ok(walked > 20000 && torn == 0 && listed() == 1,
	   "walks, also from signal handlers, while threads come and go (%lu pages)",
	   (unsigned long)walked);
}

static void test_fork(void)
{
	pthread_t t[8];
	int status, good = 0;

	running = 0;
	for (int i = 0; i < 8; i++) {
		pthread_create(&t[i], NULL, routine, (void *)2);
		while (running <= i)
			usleep(100);
		good += is_mapped(areas[i]);
	}
	ok(good == 8, "eight threads have areas");
	good = 0;
	pcce_page.id = 99;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			bool fine = own_page_is_right() && listed() == 1 && pcce_page.id == 99;
			pthread_t again;

			for (int k = 0; k < 8; k++)
				fine &= !is_mapped(areas[k]);
			good_pages = 0;
			fine &= pthread_create(&again, NULL, routine, NULL) == 0 &&
				pthread_join(again, NULL) == 0 && good_pages == 1 && listed() == 1;
			_exit(fine ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		good += status == 0;
	}
	pcce_page.id = 0;
	ok(good == 20 && listed() == 9,
	   "a forked child has its own page and knows no other thread (%d of 20)", good);
	for (int i = 0; i < 8; i++) {
		pthread_cancel(t[i]);
		pthread_join(t[i], NULL);
	}
	if (vfork() == 0)
		_exit(0);
	wait(&status);
	ok(own_page_is_right(), "vfork changes nothing");
}

static void test_errno(void)
{
	pthread_t t;

	errno = 12345;
	pthread_create(&t, NULL, routine, (void *)4);
	ok(errno == 12345, "pthread_create keeps errno");
	pthread_join(t, NULL);
}

int main(void)
{
	pthread_key_create(&key, on_key);
	ok(own_page_is_right(), "the main thread's page is announced before main");
	test_many();
	test_c11();
	test_walk();
	test_fork();
	test_errno();
	/* 1,200 of them would take 19 GB. */
	ok(vm_size() < 4 << 20, "areas of ended threads are gone (%lu MB in use)", vm_size() >> 10);
	return done_testing();
}

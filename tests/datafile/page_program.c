/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * page_program THREADS ENTRIES SECONDS [fork|exec|exit|kill]
 *
 * Keeps a thread page in each thread, with contents that dump --page knows, and computes.  Each
 * thread does so for SECONDS of its CPU time.  It needs neither plugin nor runtime, so a sampler
 * can be tested alone.  Exits with status 3.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pcce/abi.h>

__thread struct pcce_page pcce_page __attribute__((aligned(PCCE_PAGE_ALIGN)));

static unsigned int entries;
static double seconds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fill(struct pcce_entry *e, unsigned int from, unsigned int to)
{
	for (; from < to; from++, e++) {
		e->id = 100 + from;
		e->site = 0x400000 + from;
	}
}

static void announce(void)
{
	struct pcce_page *p = &pcce_page;
	unsigned int n = entries / PCCE_SEGMENT_ENTRIES, half = n & 1 ? PCCE_OFF_HALF : 0;
	uint64_t log = 0;
	struct pcce_segment *area;

	while (1u << log < n)
		log++;
	area = aligned_alloc(4096, (sizeof(*area) << log) + 4095 & ~4095UL);
	memset(area, 0, sizeof(*area) << log);
	/* The newest complete segment is in the page only, as when the stack has just grown. */
	for (unsigned int i = 0; i < n; i++) {
		struct pcce_entry *at =
			i == n - 1 ? &p->base + (half ^ PCCE_OFF_HALF) / 16 : &area[i].base;

		if (i < n - 1) {
			area[i].generation = i + 1;
			area[i].index = i;
		}
		*at = (struct pcce_entry){i, PCCE_MARK_WORD};
		fill(at + 1, i * PCCE_SEGMENT_ENTRIES, (i + 1) * PCCE_SEGMENT_ENTRIES);
	}
	(&p->base)[half / 16] = (struct pcce_entry){n, PCCE_MARK_WORD};
	fill(p->entry + half / 16, n * PCCE_SEGMENT_ENTRIES, entries);
	p->area = n ? (uintptr_t)area | log : 0;
	p->place = n << PCCE_PLACE_SHIFT | (n ? PCCE_PLACE_KEPT : 0);
	p->off = half + entries % PCCE_SEGMENT_ENTRIES * 16;
	p->id = 4242;
	p->ext = 7;
	p->version = PCCE_PAGE_VERSION;
	p->size = PCCE_PAGE_SIZE;
	p->state = PCCE_STATE_LIVE;
	__asm__ volatile("" ::: "memory");
	p->magic = PCCE_PAGE_MAGIC;
}

static void *compute(void *arg)
{
	double end = now() + seconds;
	volatile unsigned long x = 0;
	int i;

	announce();
	while (now() < end)
		for (i = 0; i < 100000; i++) {
			/* Uses the page all the time, as slots do. */
			*(volatile __u64 *)&pcce_page.guard[0].id += 5;
			x += (unsigned long)i;
			*(volatile __u64 *)&pcce_page.guard[0].id -= 5;
		}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, i;
	const char *then = argc > 4 ? argv[4] : "";
	pthread_t thread[4096];
	pthread_attr_t small;

	entries = argc > 2 ? (unsigned int)atoi(argv[2]) : 5;
	seconds = argc > 3 ? atof(argv[3]) : 1;
	if (threads > 4096)
		return 2;
	if (!strcmp(then, "exit"))
		return 3;
	if (!strcmp(then, "fork")) {
		for (i = 0; i < 50; i++)
			if (!fork())
				_exit(compute(NULL) != NULL);
		while (wait(NULL) > 0)
			;
		return 3;
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (i = 1; i < threads; i++)
		if (pthread_create(&thread[i], &small, compute, NULL))
			return 2;
	compute(NULL);
	if (!strcmp(then, "exec")) {
		execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], (char *)NULL);
		return 2;
	}
	if (!strcmp(then, "kill"))
		raise(SIGKILL);
	for (i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 3;
}

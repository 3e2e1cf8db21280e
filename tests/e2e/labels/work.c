/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Works under labels:
 *
 *   tenants N      tenants a and b in one function, with spans in it, and no tenant; prints nothing
 *   storm N        changes all labels N times in a loop; both labels of each set belong together
 *   threads N      a thread gets the labels of its creator, another one does not
 *   fork N         a child has its parent's labels, until its exec of `tenants`
 *   wait N         waits under a label, N times
 *   limits         what the functions refuse
 */
#include <errno.h>
#include <pcce.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

#define LOOK(what, wanted)                                                              \
	do {                                                                            \
		int got = (what);                                                       \
		if (got != (wanted)) {                                                  \
			printf("%d: %s is %d, not %d\n", __LINE__, #what, got, wanted); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

__attribute__((noinline)) static void burn(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) static void serve(const char *tenant, unsigned long n)
{
	LOOK(pcce_label_set("tenant", tenant), 0);
	burn(n);
	{
		PCCE_SPAN("outer");
		{
			PCCE_SPAN("inner");
			LOOK(pcce_label_set("deep", "yes"), 0);
			burn(n);
		}
		burn(n);
	}
	LOOK(pcce_label_set("tenant", NULL), 0);
}

static void tenants(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		serve("a", 300000);
		serve("b", 600000);
		burn(300000);
	}
}

#define SETS 8

static void storm(unsigned long n)
{
	static struct pcce_labels sets[SETS];
	unsigned char trace[16], span[8];
	char value[220];

	for (int i = 0; i < SETS; i++) {
		memset(value, 'a' + i, sizeof(value));
		value[1 + i * 29] = 0;
		memset(trace, 1 + i, sizeof(trace));
		memset(span, 1 + i, sizeof(span));
		LOOK(pcce_label_set("x", value), 0);
		LOOK(pcce_label_set("y", value), 0);
		LOOK(pcce_trace_set(trace, span), 0);
		LOOK(pcce_labels_get(&sets[i]), 0);
	}
	for (unsigned long i = 0; i < n; i++)
		LOOK(pcce_labels_apply(&sets[i % SETS]), 0);
}

struct job {
	struct pcce_labels labels;
	unsigned long n;
};

static void *with_labels(void *arg)
{
	const struct job *job = arg;

	LOOK(pcce_labels_apply(&job->labels), 0);
	burn(job->n);
	return NULL;
}

static void *without_labels(void *arg)
{
	const struct job *job = arg;

	burn(job->n);
	return NULL;
}

static void threads(unsigned long n)
{
	struct job job = {.n = n};
	pthread_t with, without;

	LOOK(pcce_label_set("tenant", "t"), 0);
	LOOK(pcce_labels_get(&job.labels), 0);
	pthread_create(&with, NULL, with_labels, &job);
	pthread_create(&without, NULL, without_labels, &job);
	pthread_join(with, NULL);
	pthread_join(without, NULL);
}

static void in_child(unsigned long n, const char *self)
{
	char rounds[] = "20";
	int status;
	pid_t child;

	LOOK(pcce_label_set("tenant", "parent"), 0);
	child = fork();
	if (!child) {
		burn(n);
		LOOK(pcce_label_set("tenant", "child"), 0);
		burn(n);
		execl(self, self, "tenants", rounds, NULL);
		_exit(1);
	}
	burn(n);
	LOOK((int)waitpid(child, &status, 0), (int)child);
	LOOK(status, 0);
}

__attribute__((noinline)) static void wait_for(const char *route)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	LOOK(pcce_label_set("route", route), 0);
	nanosleep(&pause, NULL);
	LOOK(pcce_label_set("route", NULL), 0);
}

static jmp_buf back;

static void leave_span(void)
{
	struct pcce_labels before;

	LOOK(pcce_span_begin(&before, "left"), 0);
	longjmp(back, 1);
}

static int same_as(const struct pcce_labels *before)
{
	struct pcce_labels now;

	LOOK(pcce_labels_get(&now), 0);
	return !memcmp(&now, before, 28 + 11);
}

static void limits(void)
{
	struct pcce_labels before, outer;
	char text[300], key[16];

	memset(text, 'v', sizeof(text));
	text[256] = 0;
	LOOK(pcce_label_set("k", text), -E2BIG);
	text[255] = 0;
	LOOK(pcce_label_set("k", text), 0);
	LOOK(pcce_label_set("l", text), 0);
	LOOK(pcce_label_set("m", text), -E2BIG);
	LOOK(pcce_label_set("l", NULL), 0);
	LOOK(pcce_label_set("l", NULL), 0);
	text[64] = 0;
	LOOK(pcce_label_set(text, "v"), -EINVAL);
	LOOK(pcce_label_set("", "v"), -EINVAL);
	text[63] = 0;
	LOOK(pcce_label_set(text, "v"), 0);
	LOOK(pcce_label_set(text, NULL), 0);
	LOOK(pcce_label_set("k", "short"), 0);
	LOOK(pcce_labels_get(&before), 0);
	LOOK(pcce_span_begin(&outer, "outer"), 0);
	if (!setjmp(back))
		leave_span();
	pcce_span_end(&outer);
	LOOK(same_as(&before), 1);
	for (int i = 0; i < 251; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		LOOK(pcce_label_set(key, "v"), i < 250 ? 0 : -ENOSPC);
		LOOK(pcce_label_set(key, NULL), 0);
	}
	LOOK(pcce_label_set("k", NULL), 0);
	puts("all as specified");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (!strcmp(what, "tenants"))
		tenants(n);
	else if (!strcmp(what, "storm"))
		storm(n);
	else if (!strcmp(what, "threads"))
		threads(n);
	else if (!strcmp(what, "fork"))
		in_child(n, argv[0]);
	else if (!strcmp(what, "limits"))
		limits();
	for (unsigned long i = 0; i < n && !strcmp(what, "wait"); i++)
		wait_for(i % 2 ? "/slow" : "/quick");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cost [instructions]
 *
 * Counts the cost of a sample.  Each getppid() is a sample.
 *
 * Without an argument it counts how often the module reads user memory for a sample.  A probe
 * counts the calls of copy_from_user_nofault().
 *
 * With the argument it counts the instructions that getppid() takes, over those with an event that
 * never becomes a sample.  Both include all that perf does to deliver the event.  This needs an
 * emulator whose time is the number of instructions (qemu -icount shift=0).
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "begin_session.h"
#include "guest.h"
#include "made_page.h"
#include "sampler/kmod_session.h"

#define SAMPLES 200
#define NEVER (1ULL << 40)
#define TRACING "/sys/kernel/tracing/"

static uint64_t event;

static const struct shape {
	const char *name;
	unsigned int entries, below;
	bool upper;
	unsigned int reads; /* for each sample */
} shapes[] = {
	{"without an encoding stack", 0, 0, false, 1},
	{"with 16 entries", PCCE_SEGMENT_ENTRIES, 0, false, 1},
	{"with 3 segments below", PCCE_SEGMENT_ENTRIES / 2, 3, false, 1},
	{"with 300 segments below", PCCE_SEGMENT_ENTRIES / 2, SEGMENTS, false, 1},
	{"in the page's upper half", PCCE_SEGMENT_ENTRIES / 2, SEGMENTS - 1, true, 2},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
enum { SHALLOW = 2, DEEP = 3 };

/* Samples each rate-th call from now on. */
static struct kmod_session *begin(uint64_t rate)
{
	int64_t offset = (int64_t)((char *)&page - (char *)__builtin_thread_pointer());
	struct pcce_kmod_setup c = usual_setup();
	struct kmod_session *k;
	unsigned int i;

	c.type = PERF_TYPE_TRACEPOINT;
	c.config = event;
	c.flags = 0;
	c.rate = rate;
	c.ring_bytes = 1 << 20;
	k = begin_session(&c, &offset);
	/* The first samples find the page and read the SEGMENTS below it, up to
	 * PCCE_SAMPLE_SEGMENTS a sample. */
	for (i = 0; i < 10; i++)
		syscall(SYS_getppid);
	return k;
}

static int count_bad(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	unsigned int *bad = ctx;

	(void)kernel;
	(void)size;
	*bad += !!(s->flags & (PCCE_SAMPLE_READ_FAULT | PCCE_SAMPLE_OUTSIDE));
	return 0;
}

/* Checks that the session has delivered that many samples, each with its page. */
static void finish(struct kmod_session *k, unsigned int wanted)
{
	struct pcce_kmod_stats stats = {0};
	unsigned int bad = 0;
	long err = kmod_session_stats(k, &stats);

	if (!err)
		err = kmod_session_read(k, count_bad, &bad);
	if (err || bad || stats.samples != wanted) {
		result(false, "%u samples are taken", wanted);
		printf("#   error %ld, %llu samples, %u without a page\n", err,
		       (unsigned long long)stats.samples, bad);
	}
	kmod_session_close(k);
}

/* ---- reads of user memory ---------------------------------------------------------- */

/* Returns the reads of user memory up to now.  The probe must have missed none. */
static unsigned long long reads(void)
{
	FILE *f = fopen(TRACING "kprobe_profile", "re");
	unsigned long long hits = 0, missed = 1;

	if (!f || fscanf(f, "%*s %llu %llu", &hits, &missed) != 2 || missed)
		result(false, "the probe counts (%llu missed)", missed);
	if (f)
		fclose(f);
	return hits;
}

static unsigned long long reads_for_samples(void)
{
	struct kmod_session *k = begin(1);
	unsigned long long n = reads();
	unsigned int i;

	for (i = 0; i < SAMPLES; i++)
		syscall(SYS_getppid);
	n = reads() - n;
	finish(k, SAMPLES + 10);
	return n;
}

static void count_reads(void)
{
	char name[128];
	size_t i;

	write_to(TRACING "kprobe_events", "p:pcce/read copy_from_user_nofault\n");
	write_to(TRACING "events/pcce/read/enable", "1");
	for (i = 0; i < SHAPES; i++) {
		make_page(shapes[i].entries, shapes[i].below, shapes[i].upper);
		snprintf(name, sizeof(name), "reads for %d samples %s", SAMPLES, shapes[i].name);
		expect(name, (long)reads_for_samples(), (long)shapes[i].reads * SAMPLES);
	}
	write_to(TRACING "events/pcce/read/enable", "0");
	write_to(TRACING "kprobe_events", "-:pcce/read\n");
}

/* ---- instructions --------------------------------------------------------------------- */

/* Takes the least of many, to leave out interruptions. */
static unsigned long long instructions_of_a_call(void)
{
	unsigned long long least = ~0ULL, n;
	unsigned int i;

	for (i = 0; i < SAMPLES; i++) {
		n = __rdtsc();
		syscall(SYS_getppid);
		n = __rdtsc() - n;
		least = n < least ? n : least;
	}
	return least;
}

static unsigned long long instructions_of_a_sample(void)
{
	struct kmod_session *k = begin(1);
	unsigned long long with = instructions_of_a_call(), without;

	finish(k, SAMPLES + 10);
	k = begin(NEVER);
	without = instructions_of_a_call();
	finish(k, 0);
	return with - without;
}

/* 2,000 instructions, and those around them. */
static unsigned long long known_loop(void)
{
	unsigned long long n = __rdtsc();
	unsigned int i = 1000;

	__asm__ volatile("1: decl %0; jnz 1b" : "+r"(i) : : "cc");
	return __rdtsc() - n;
}

static void count_instructions(void)
{
	unsigned long long n[SHAPES], loop = known_loop();
	size_t i;

	loop = known_loop();
	result(loop >= 2000 && loop < 2050,
	       "the emulator's time is the number of instructions (%llu)", loop);
	for (i = 0; i < SHAPES; i++) {
		make_page(shapes[i].entries, shapes[i].below, shapes[i].upper);
		n[i] = instructions_of_a_sample();
		/* A kilobyte that is copied and hashed, not the stack: that would be 150,000 bytes
		 * here. */
		result(n[i] > 100 && n[i] < 5000, "instructions for a sample %s: %llu",
		       shapes[i].name, n[i]);
	}
	/* A table's set is searched for the newest segment's name, which may be in any of its
	 * places. */
	result(n[DEEP] < n[SHALLOW] + 100 && n[SHALLOW] < n[DEEP] + 100,
	       "a sample costs the same at any depth");
}

int main(int argc, char **argv)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	event = tracepoint("syscalls/sys_enter_getppid");
	make_area();
	if (argc > 1 && !strcmp(argv[1], "instructions"))
		count_instructions();
	else
		count_reads();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a sample costs, counted: how often the module reads user memory for it.  A probe counts the calls of
 * copy_from_user_nofault(); each getppid() is a sample.
 *
 * No instrumentation: the page is made by hand, so that it is known what there is to read.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"
#include "tools/lib/kmod_session.h"

#define SAMPLES 200
#define SEGMENTS 300
#define TRACING "/sys/kernel/tracing/"

static __thread struct pcce_page page __attribute__((aligned(4096), tls_model("initial-exec")));
static struct pcce_segment *area;

static void write_to(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		result(false, "%s takes \"%s\"", file, text);
	close(fd);
}

/* Reads of user memory up to now; what the probe missed must be nothing. */
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

static void make_page(unsigned int entries, unsigned int below, bool upper)
{
	unsigned int first = upper ? PCCE_OFF_HALF / 16 : 0, i;

	memset(&page, 0, sizeof(page));
	page.version = PCCE_PAGE_VERSION;
	page.size = PCCE_PAGE_SIZE;
	*(upper ? &page.entry[first - 1] : &page.base) =
		(struct pcce_entry){below ? area[below - 1].generation : 0, PCCE_MARK_WORD};
	for (i = 0; i < entries; i++)
		page.entry[first + i] = (struct pcce_entry){i + 1, i + 1};
	page.off = (first + entries) * 16;
	page.place = below << PCCE_PLACE_SHIFT;
	page.area = (uint64_t)(uintptr_t)area;
	page.magic = PCCE_PAGE_MAGIC;
}

static int ignore(void *ctx, const struct pcce_kmod_record *record, const struct pcce_sample *s, size_t size)
{
	unsigned int *bad = ctx;

	(void)record;
	(void)size;
	*bad += !!(s->flags & (PCCE_SAMPLE_READ_FAULT | PCCE_SAMPLE_OUTSIDE));
	return 0;
}

/* SAMPLES samples of the page as it is, after a few others: reads for all of them. */
static unsigned long long cost(uint64_t event, uint32_t flags)
{
	int64_t offset = (int64_t)((char *)&page - (char *)__builtin_thread_pointer());
	struct pcce_kmod_setup c = usual_setup();
	struct pcce_kmod_stats before, after;
	unsigned long long n = 0;
	unsigned int i, bad = 0;
	struct kmod_session *k;
	uint64_t since;
	char why[256];
	long err = kmod_open(&k, why, sizeof(why));

	c.type = PERF_TYPE_TRACEPOINT;
	c.config = event;
	c.flags = flags;
	c.rate = 1;
	c.ring_bytes = 1 << 20;
	if (!err)
		err = kmod_setup(k, &c);
	if (!err)
		err = kmod_places(k, &offset, 1);
	if (!err)
		err = kmod_start(k);
	/* The first ones find out where the page is, and read what is below: SEGMENTS, up to PCCE_SAMPLE_SEGMENTS a
	 * sample. */
	for (i = 0; i < 10 && !err; i++)
		syscall(SYS_getppid);
	if (!err)
		err = kmod_stats(k, &before);
	if (!err) {
		n = reads();
		for (i = 0; i < SAMPLES; i++)
			syscall(SYS_getppid);
		n = reads() - n;
		err = kmod_stats(k, &after);
	}
	if (!err && flags & PCCE_KMOD_AGGREGATE)
		err = kmod_rotate(k, &since) ?: kmod_read_counts(k, ignore, &bad);
	else if (!err)
		err = kmod_read(k, ignore, &bad);
	if (err || bad || after.samples - before.samples != SAMPLES) {
		result(false, "%d samples are taken", SAMPLES);
		printf("#   error %ld, %u without a page\n", err, bad);
	}
	kmod_close(k);
	return n;
}

int main(void)
{
	uint64_t event = tracepoint("syscalls/sys_enter_getppid");
	cpu_set_t one;
	unsigned int i;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	area = mmap(NULL, SEGMENTS * sizeof(*area), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		    -1, 0);
	for (i = 0; i < SEGMENTS; i++) {
		area[i].generation = 1000 + i;
		area[i].index = i;
		area[i].base = (struct pcce_entry){i ? 999 + i : 0, PCCE_MARK_WORD};
	}
	write_to(TRACING "kprobe_events", "p:pcce/read copy_from_user_nofault\n");
	write_to(TRACING "events/pcce/read/enable", "1");

	make_page(0, 0, false);
	expect("reads for 200 samples without an encoding stack", (long)cost(event, 0), SAMPLES);
	make_page(PCCE_SEGMENT_ENTRIES, 0, false);
	expect("... with 32 entries", (long)cost(event, 0), SAMPLES);
	make_page(PCCE_SEGMENT_ENTRIES / 2, SEGMENTS, false);
	expect("... with 300 segments below", (long)cost(event, 0), SAMPLES);
	expect("... counted", (long)cost(event, PCCE_KMOD_AGGREGATE), SAMPLES);
	make_page(PCCE_SEGMENT_ENTRIES / 2, SEGMENTS - 1, true);
	expect("... in the page's upper half", (long)cost(event, 0), 2 * SAMPLES);

	write_to(TRACING "events/pcce/read/enable", "0");
	write_to(TRACING "kprobe_events", "-:pcce/read\n");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * reload FILE TIMES
 *
 * Loads the module, lets it sample, and removes it, in some batches of TIMES.  The kernel must have
 * allocated as much before as after, except for its caches.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

#define WARM_UP 20
#define BATCHES 5
#define PER_TIME \
	256 /* bytes for each time, at most: less than anything that the module allocates for a \
	       session */

/* One of the kernel's allocators, or of its caches of objects. */
static struct source {
	char name[64];
	long long bytes, least; /* the last time; what it has grown by in each batch */
} sources[1000];
static size_t n_sources;

static void note(const char *name, long long bytes, bool first)
{
	struct source *s = sources;

	while (s < sources + n_sources && strcmp(s->name, name) != 0)
		s++;
	if (s == sources + n_sources) {
		if (n_sources++ == sizeof(sources) / sizeof(sources[0]))
			abort();
		snprintf(s->name, sizeof(s->name), "%s", name);
		s->least = first ? LLONG_MAX : 0;
	}
	if (!first && bytes - s->bytes < s->least)
		s->least = bytes - s->bytes;
	s->bytes = bytes;
}

static void look(bool first)
{
	long long objects, size, kb;
	char line[512], name[64];
	glob_t slabs;
	size_t i;
	FILE *f;

	sleep(1);
	sync();
	write_to("/proc/sys/vm/drop_caches", "3");
	/* What lies free in slabs of a CPU's own counts as allocated; a leak that fits in there
	 * would not be seen. */
	if (glob("/sys/kernel/slab/*/shrink", GLOB_NOSORT, NULL, &slabs))
		abort();
	for (i = 0; i < slabs.gl_pathc; i++)
		write_to(slabs.gl_pathv[i], "1");
	globfree(&slabs);
	f = fopen("/proc/slabinfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lld %*d %lld", name, &objects, &size) == 3)
			note(name, objects * size, first);
	if (!f)
		abort();
	fclose(f);
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lld", name, &kb) == 2 &&
		    (!strcmp(name, "VmallocUsed:") || !strcmp(name, "Percpu:")))
			note(name, kb * 1024, first);
	if (!f)
		abort();
	fclose(f);
}

static int load(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	int err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;

	close(fd);
	return err;
}

static int use(int i)
{
	struct pcce_kmod_setup c = usual_setup();
	int fd = open(PCCE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	int err;
	void *p;

	if (fd < 0)
		return -errno;
	c.rate = 50000;
	if (i % 2)
		c.flags |= PCCE_KMOD_COPY_STACKS;
	err = (int)request(fd, PCCE_KMOD_IOC_SETUP, &c);
	if (!err)
		err = (int)request(fd, PCCE_KMOD_IOC_START, NULL);
	p = mmap(NULL, c.writer_bytes, PROT_READ, MAP_SHARED, fd, (off_t)c.writer_offset);
	burn_ms(1);
	if (!err && syscall(SYS_delete_module, "pcce_sampler", O_NONBLOCK) == 0)
		err = -EBUSY;
	close(fd);
	/* A mapping alone also keeps the module. */
	if (p == MAP_FAILED ||
	    (!err && syscall(SYS_delete_module, "pcce_sampler", O_NONBLOCK) == 0))
		return err ? err : -EBUSY;
	munmap(p, c.writer_bytes);
	return err;
}

static int repeat(const char *file, int times)
{
	int i, err = 0;

	for (i = 0; i < times && !err; i++) {
		err = load(file);
		if (!err)
			err = use(i);
		if (!err && syscall(SYS_delete_module, "pcce_sampler", 0))
			err = -errno;
	}
	return err;
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 1, err, i;
	const struct source *s, *most = sources;
	long long sum = 0;

	if (times < 1)
		return 2;
	err = repeat(argv[1], WARM_UP);
	/* KASAN delays the release of freed memory.  A kernel with KASAN also has kmemleak, which
	 * is more exact. */
	if (!access("/sys/kernel/debug/kmemleak", F_OK)) {
		expect("loaded, used and removed, again and again",
		       err ? err : repeat(argv[1], times), 0);
		return 0;
	}
	/*
	 * The caches of files and of threads' stacks grow and shrink.  Memory that is freed after a
	 * grace period may wait for seconds, so that much is freed at once.  A leak is in each
	 * batch, in the same cache.
	 */
	look(true);
	for (i = 0; i < BATCHES && !err; i++) {
		err = repeat(argv[1], times);
		look(false);
	}
	expect("loaded, used and removed, again and again", err, 0);
	for (s = sources; s < sources + n_sources; s++) {
		sum += s->least > 0 ? s->least : 0;
		most = s->least > most->least ? s : most;
	}
	result(sum < (long long)times * PER_TIME,
	       "%d times leave nothing behind (%lld bytes; most in %s: %lld)", times, sum,
	       most->name, most->least);
	return 0;
}

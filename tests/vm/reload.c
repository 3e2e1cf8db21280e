/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * reload FILE TIMES: loads the module, has it sample, and removes it, again and again.  What the kernel has
 * allocated must be the same before and after, but for what its caches do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

#define WARM_UP 20
#define PER_TIME 256 /* bytes for each time, at most: less than anything that the module allocates for a session */

/* Bytes in the kernel's allocators. */
static long long allocated(void)
{
	long long sum = 0, objects, size, kb;
	char line[512];
	FILE *f;
	int fd;

	sync();
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "3", 1) != 1)
		abort();
	close(fd);
	f = fopen("/proc/slabinfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %lld %*d %lld", &objects, &size) == 2)
			sum += objects * size;
	if (!f)
		abort();
	fclose(f);
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmallocUsed: %lld", &kb) == 1 || sscanf(line, "Percpu: %lld", &kb) == 1)
			sum += kb * 1024;
	fclose(f);
	return sum;
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
		c.flags |= PCCE_KMOD_AGGREGATE;
	err = (int)request(fd, PCCE_KMOD_IOC_SETUP, &c);
	if (!err)
		err = (int)request(fd, PCCE_KMOD_IOC_START, NULL);
	p = mmap(NULL, c.writer_bytes, PROT_READ, MAP_SHARED, fd, (off_t)c.writer_offset);
	burn_ms(1);
	if (!err && syscall(SYS_delete_module, "pcce_sampler", O_NONBLOCK) == 0)
		err = -EBUSY;
	close(fd);
	/* A mapping alone keeps it, too. */
	if (p == MAP_FAILED || (!err && syscall(SYS_delete_module, "pcce_sampler", O_NONBLOCK) == 0))
		return err ? err : -EBUSY;
	munmap(p, c.writer_bytes);
	return err;
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 1, i, err = 0;
	long long before = 0, after;

	if (times < 1)
		return 2;
	for (i = 0; i < times + WARM_UP && !err; i++) {
		if (i == WARM_UP)
			before = allocated();
		err = load(argv[1]);
		if (!err)
			err = use(i);
		if (!err && syscall(SYS_delete_module, "pcce_sampler", 0))
			err = -errno;
	}
	expect("loaded, used and removed, again and again", err ? err : i, times + WARM_UP);
	/* KASAN keeps for a while what was freed; and where it is, there is kmemleak, too, which knows better. */
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		return 0;
	after = allocated();
	/* What is freed after a grace period may wait for some seconds more, so that much is freed at once. */
	for (i = 0; i < 20 && after - before >= (long long)times * PER_TIME; i++) {
		sleep(1);
		after = allocated();
	}
	result(after - before < (long long)times * PER_TIME, "%d times leave nothing behind (%lld bytes)", times,
	       after - before);
	return 0;
}

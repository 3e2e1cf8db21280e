/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the functions that the guest's test programs share; see guest.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

void result(bool good, const char *format, ...)
{
	char name[256];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	printf("%s - %s\n", good ? "ok" : "not ok", name);
	fflush(stdout);
}

void expect(const char *name, long got, long wanted)
{
	result(got == wanted, "%s", name);
	if (got != wanted) {
		printf("#   got %ld (%s), wanted %ld (%s)\n", got,
		       got < 0 ? strerror((int)-got) : "", wanted,
		       wanted < 0 ? strerror((int)-wanted) : "");
		fflush(stdout);
	}
}

void write_to(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		result(false, "%s takes \"%s\"", file, text);
	close(fd);
}

int device(void)
{
	int fd = open(PCCE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		printf("not ok - " PCCE_KMOD_DEVICE " can be opened\n#   %s\n", strerror(errno));
		exit(1);
	}
	return fd;
}

long request(int fd, unsigned long number, void *argument)
{
	return ioctl(fd, number, argument) ? -errno : 0;
}

struct pcce_kmod_setup usual_setup(void)
{
	return (struct pcce_kmod_setup){
		.scope = PCCE_KMOD_PROCESS,
		.flags = PCCE_KMOD_FREQUENCY,
		.cpu = -1,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.rate = 1000,
		.ring_bytes = PCCE_KMOD_RING_MIN,
	};
}

void burn_ms(unsigned int ms)
{
	struct watch w = watch_new(100);

	while (watch_ms(&w) < ms)
		;
}

uint64_t tracepoint(const char *name)
{
	char path[256];
	unsigned long id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%lu", &id) != 1)
		result(false, "there is the tracepoint %s", name);
	if (f)
		fclose(f);
	return id;
}

struct watch watch_new(unsigned int step_ms)
{
	struct watch w = {.step_ms = step_ms};

	clock_gettime(CLOCK_MONOTONIC, &w.last);
	return w;
}

uint64_t watch_ms(struct watch *w)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_sec - w->last.tv_sec) * 1000 + (now.tv_nsec - w->last.tv_nsec) / 1000000;
	if (ms > 0) {
		w->ms += (uint64_t)(ms < w->step_ms ? ms : w->step_ms);
		w->last = now;
	}
	return w->ms;
}

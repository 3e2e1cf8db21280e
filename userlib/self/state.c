// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Holds what the parts of the self sampler share, and reads the environment variable that activates
 * it (include/pcce/selfring.h). A set-uid program ignores the variable.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include "self/self.h"
#include "base/syscall.h"

#define SHORTEST_INTERVAL 10000

/* Zeros, so that it takes no room in the file. */
struct self_state self_state;

uint64_t self_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* vdso: no system call */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void self_set_flag(uint32_t flag)
{
	if (self_state.ring.head)
		__atomic_or_fetch(&self_state.ring.head->flags, flag, __ATOMIC_RELAXED);
}

void self_count_lost(uint64_t n)
{
	__atomic_add_fetch(&self_state.ring.head->lost, n, __ATOMIC_RELAXED);
}

void self_count_unseen(void)
{
	if (self_state.active)
		__atomic_add_fetch(&self_state.ring.head->unseen, 1, __ATOMIC_RELAXED);
}

void self_count_due(uint64_t due, uint64_t kernel, uint64_t throttled)
{
	struct pcce_self_ring *head = self_state.ring.head;

	__atomic_add_fetch(&head->due, due, __ATOMIC_RELAXED);
	if (kernel)
		__atomic_add_fetch(&head->kernel, kernel, __ATOMIC_RELAXED);
	if (throttled)
		__atomic_add_fetch(&head->throttled, throttled, __ATOMIC_RELAXED);
}

/* Returns the first character after the number. */
static const char *take_number(const char *p, uint64_t *value)
{
	*value = 0;
	for (; *p >= '0' && *p <= '9' && *value < UINT64_MAX / 16; p++)
		*value = *value * 10 + (uint64_t)(*p - '0');
	return p;
}

static bool take_flags(const char *p)
{
	uint64_t number;

	while (*p) {
		switch (*p++) {
		case PCCE_SELF_FLAG_VERIFY:
			self_state.want_verify = true;
			break;
		case PCCE_SELF_FLAG_COPY:
			self_state.want_copy = true;
			break;
		case PCCE_SELF_FLAG_TASK_CLOCK:
			self_state.want_task_clock = true;
			break;
		case PCCE_SELF_FLAG_TIMER:
			self_state.want_timer = true;
			break;
		case PCCE_SELF_FLAG_LABELS:
			self_state.want_labels = true;
			break;
		case PCCE_SELF_FLAG_MALLOC:
			p = take_number(p, &self_state.allocations);
			break;
		case PCCE_SELF_FLAG_SIGNAL:
			p = take_number(p, &number);
			if (number == 0 || number >= NSIG)
				return false;
			self_state.signal = (int)number;
			break;
		}
	}
	return true;
}

/* Parses <directory>:<interval>:<flags> from its end, since a directory may contain colons. */
static bool parse_activation(const char *text)
{
	const char *flags = strrchr(text, ':'), *number;
	size_t length;

	if (!flags || flags == text)
		return false;
	for (number = flags; number > text && number[-1] != ':'; number--)
		;
	if (number == text || take_number(number, &self_state.interval) != flags)
		return false;
	length = (size_t)(number - 1 - text);
	if (length >= sizeof(self_state.directory) || !take_flags(flags + 1))
		return false;
	if (self_state.interval < SHORTEST_INTERVAL)
		self_state.interval = SHORTEST_INTERVAL;
	memcpy(self_state.directory, text, length);
	self_state.directory[length] = 0;
	return true;
}

/* Returns room for a second of samples of 1 KB on all CPUs (4 KB with a real stack, 8 KB with a
 * copy). For the largest samples this is a sixteenth of a second. */
static uint64_t choose_ring_size(void)
{
	uint64_t mask[128] = {0}, cpus = 0, bytes, size = 4 * PCCE_SELF_DATA_MIN;
	long n = raw_syscall3(SYS_sched_getaffinity, 0, sizeof(mask), mask);

	for (long i = 0; i < n / 8; i++)
		cpus += count_bits(mask[i]);
	/* Contexts of allocations come fast while a program begins. */
	bytes = (self_state.allocations ? 4096 : 1000000000 / self_state.interval) *
		(cpus ? cpus : 1) *
		(self_state.want_copy	  ? 8192
		 : self_state.want_verify ? 4096
					  : 1024);
	while (size < bytes && size < PCCE_SELF_DATA_MAX)
		size *= 2;
	return size;
}

bool self_state_read(void)
{
	const char *text = getauxval(AT_SECURE) ? NULL : getenv(PCCE_SELF_ENV);

	self_state.signal = PCCE_SELF_SIGNAL;
	if (!text || !parse_activation(text))
		return false;
	self_state.pid = (uint32_t)raw_syscall0(SYS_getpid);
	self_state.ring_size = choose_ring_size();
	if (self_state.allocations && !self_state.want_verify)
		self_state.n_counters = self_state.allocations == 1 ? PCCE_SELF_COUNTERS
								    : PCCE_SELF_COUNTERS_SAMPLED;
	return true;
}

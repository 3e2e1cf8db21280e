/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * keys DEPTH...: for each depth of calls, prints the ns that a key of the calling context takes, in
 * each way that the build has. A recursion that is not regular leads to the depth. A time is the
 * least one of many short loops, so others on the machine change it little.
 *
 * -DWITH_PCCE: pcce.h. -DWITH_UNWIND: libunwind, which would replace backtrace(3). Else a walk
 * along frame pointers, and backtrace(3). Return addresses are hashed.
 */
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef WITH_PCCE
#include <pcce.h>
#endif
#ifdef WITH_UNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define NOINLINE __attribute__((noinline, noclone))
#define FRAMES_MAX 4096
#define SECONDS 0.5

volatile uint64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define MEASURE(name, expression)                              \
	do {                                                   \
		double least = 1e18, begin = now();            \
		while (now() - begin < SECONDS * 1e9) {        \
			double start = now();                  \
			for (int i = 0; i < 200; i++)          \
				sink += (expression);          \
			start = (now() - start) / 200;         \
			least = start < least ? start : least; \
		}                                              \
		printf("%s %d %.1f\n", name, depth, least);    \
	} while (0)

#ifdef WITH_PCCE

static NOINLINE void measure(int depth)
{
	static union {
		struct pcce_context c;
		char bytes[sizeof(struct pcce_context) + FRAMES_MAX * sizeof(struct pcce_entry)];
	} room;

	MEASURE("pcce_stack_id", pcce_stack_id());
	MEASURE("pcce_context_id", pcce_context_id().bytes[0]);
	MEASURE("pcce_capture", (uint64_t)pcce_capture(&room.c, sizeof(room)));
}

#else

static uint64_t hash(void *const *addresses, int n)
{
	uint64_t h = 0;

	for (int i = 0; i < n; i++)
		h = (h ^ (uint64_t)(uintptr_t)addresses[i]) * 0x9e3779b97f4a7c15ULL;
	return h;
}

static NOINLINE uint64_t by_frame_pointers(int depth)
{
	void **frame = __builtin_frame_address(0);
	uint64_t h = 0;

	for (int i = 0; i < depth + 2; i++, frame = *frame)
		h = (h ^ (uint64_t)(uintptr_t)frame[1]) * 0x9e3779b97f4a7c15ULL;
	return h;
}

static NOINLINE void measure(int depth)
{
	static void *addresses[FRAMES_MAX];

#ifdef WITH_UNWIND
	MEASURE("libunwind", hash(addresses, unw_backtrace(addresses, FRAMES_MAX)));
#else
	MEASURE("frame-pointers", by_frame_pointers(depth));
	MEASURE("backtrace", hash(addresses, backtrace(addresses, FRAMES_MAX)));
#endif
}

#endif

static void odd(int left, int depth);

static NOINLINE void even(int left, int depth)
{
	if (left <= 1)
		measure(depth);
	else if ((unsigned int)left * 2654435761u >> 30 & 1)
		odd(left - 1, depth);
	else
		even(left - 1, depth);
	sink++;
}

static NOINLINE void odd(int left, int depth)
{
	if (left <= 1)
		measure(depth);
	else if ((unsigned int)left * 2654435761u >> 31)
		even(left - 1, depth);
	else
		odd(left - 1, depth);
	sink++;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		even(atoi(argv[i]), atoi(argv[i]));
	return 0;
}

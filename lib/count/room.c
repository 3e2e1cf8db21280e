/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements room.h.
 *
 * The engine reserves much more address space than it uses. Where address space is limited, that
 * would be missing to the program, so the engine gets a small share of the limit.
 *
 * If the kernel never overcommits memory, all private memory counts that is reserved, in each
 * forked child again. A shared page counts when it is first used, and if there is none, the program
 * gets SIGBUS.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include "count/room.h"

#define SHARE 32		/* the program has all but two of these parts */
#define COMMIT_MAX (1ULL << 26) /* bytes */

static void limit_room(struct count_room *room, uint64_t size, const char *limit)
{
	if (size >= room->size)
		return;
	room->size = size > COUNT_ROOM_MIN ? size : COUNT_ROOM_MIN;
	room->limit = limit;
}

/* A value in KiB of /proc/meminfo. */
static uint64_t memory_value(const char *format)
{
	FILE *in = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t value = 0;

	while (in && fgets(line, sizeof(line), in) && sscanf(line, format, &value) != 1)
		;
	if (in)
		fclose(in);
	return value;
}

static bool is_overcommitted(void)
{
	FILE *in = fopen("/proc/sys/vm/overcommit_memory", "re");
	int mode = 0;

	if (in && fscanf(in, "%d", &mode) != 1)
		mode = 0;
	if (in)
		fclose(in);
	return mode != 2;
}

struct count_room count_room_find(void)
{
	static const struct {
		int resource, share;
		const char *name;
	} limits[] = {
		{RLIMIT_AS, SHARE, "address space (ulimit -v)"},
		{RLIMIT_DATA, SHARE, "data (ulimit -d)"},
		{RLIMIT_FSIZE, 1, "the size of files (ulimit -f)"},
	};
	struct count_room room = {.size = UINT64_MAX, .accounted = !is_overcommitted()};
	struct rlimit l;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (!getrlimit((__rlimit_resource_t)limits[i].resource, &l) &&
		    l.rlim_cur != RLIM_INFINITY)
			limit_room(&room, l.rlim_cur / (unsigned int)limits[i].share,
				   limits[i].name);
	if (room.accounted) {
		uint64_t most = memory_value("CommitLimit: %" SCNu64),
			 used = memory_value("Committed_AS: %" SCNu64);
		uint64_t left = most > used ? (most - used) * 1024 / SHARE : 0;

		limit_room(&room, left < COMMIT_MAX ? left : COMMIT_MAX,
			   "memory (vm.overcommit_memory is 2)");
	}
	return room;
}

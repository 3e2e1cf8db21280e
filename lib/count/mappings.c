/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See mappings.h. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "count/mappings.h"

#define REACH ((1ULL << 31) - (1ULL << 20))
#define LOWEST_ROOM (1ULL << 20)
#define APART (64ULL << 20)
#define HEAP_ROOM (1ULL << 30) /* a heap may grow so far */

/* The number of seccomp filters of a process, or its mode if an older kernel tells no number. */
static unsigned int read_filters(const char *path)
{
	char line[256];
	unsigned int mode = 0, filters = 0;
	bool counted = false;
	FILE *in = fopen(path, "re");

	if (!in)
		return UINT_MAX;
	while (fgets(line, sizeof(line), in)) {
		counted |= sscanf(line, "Seccomp_filters: %u", &filters) == 1;
		sscanf(line, "Seccomp: %u", &mode);
	}
	fclose(in);
	return counted && mode != 1 ? filters : mode;
}

bool count_process_is_confined(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return read_filters(path) > read_filters("/proc/self/status");
}

static int parse_mapping(struct count_mappings *m, const char *line)
{
	struct count_mapping *at;
	char executable;
	int path = 0;

	if (array_grow_from(&m->list, m->n, &m->capacity, 64, sizeof(*m->list)))
		return -ENOMEM;
	at = &m->list[m->n];
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %" SCNu64 " %n",
		   &at->start, &at->end, &executable, &at->offset, &at->inode, &path) < 5)
		return 0;
	at->executable = executable == 'x';
	at->path = strdup(path ? line + path : "");
	if (!at->path)
		return -ENOMEM;
	m->n++;
	return 0;
}

int count_mappings_read(pid_t pid, struct count_mappings *out, struct error *why)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	int err = 0;
	FILE *in;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	in = fopen(path, "re");
	if (!in)
		return error_set(why, -errno, "is in a process whose mappings cannot be read: %s",
				 strerror(errno));
	while (!err && getline(&line, &capacity, in) > 0) {
		line[strcspn(line, "\n")] = 0;
		err = parse_mapping(out, line);
	}
	free(line);
	fclose(in);
	if (!err)
		return 0;
	count_mappings_free(out);
	return error_memory(why);
}

void count_mappings_free(struct count_mappings *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->list[i].path);
	free(m->list);
	memset(m, 0, sizeof(*m));
}

bool count_mappings_are_free(const struct count_mappings *m, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].start < end && m->list[i].end > start)
			return false;
	return true;
}

bool count_mappings_are_added(const struct count_mappings *m, uint64_t address)
{
	for (size_t i = 0; i < m->n; i++)
		if (address >= m->list[i].start && address < m->list[i].end)
			return m->list[i].executable && !m->list[i].path[0];
	return false;
}

static uint64_t distance_of(uint64_t start, uint64_t end, uint64_t below)
{
	return below <= start ? start - below : below - end;
}

uint64_t
count_mappings_room(const struct count_mappings *m, uint64_t start, uint64_t end, uint64_t size,
		    bool (*is_taken)(void *ctx, uint64_t start, uint64_t end, uint64_t *below),
		    void *ctx)
{
	uint64_t low = end > REACH + LOWEST_ROOM ? end - REACH : LOWEST_ROOM, high = start + REACH;
	uint64_t best = 0, best_distance = UINT64_MAX;

	/* The gap before each mapping. Stacks grow down, heaps up. */
	for (size_t i = 0; i < m->n; i++) {
		uint64_t from = i ? m->list[i - 1].end : 0, below = m->list[i].start;

		if (i && !strcmp(m->list[i - 1].path, "[heap]"))
			from += HEAP_ROOM;
		from = from < low ? low : from;
		below = below > high ? high : below;
		if (below < from + size || !strcmp(m->list[i].path, "[stack]"))
			continue;
		/* Other threads map memory at the upper end, at any time. */
		if (below > from + size + 2 * APART)
			below -= APART;
		while (distance_of(start, end, below) < best_distance && below >= from + size) {
			if (is_taken(ctx, below - size, below, &below))
				continue;
			best = below - size;
			best_distance = distance_of(start, end, below);
		}
	}
	return best;
}

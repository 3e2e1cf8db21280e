// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asks /proc which of the recorded processes still run, and whether a debugger is attached to one.
 *
 * A number may belong to a later process by then. That one began after the last record of the
 * recorded process. The kernel gives the beginning in ticks since the boot, of 10 ms.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/running.h"

#define SECOND_NS 1000000000ull
#define TOLERANCE_NS 20000000
#define TRACED_MAX 8 /* processes: this is asked ten times a second */

int running_note(struct running *r, pid_t pid, uint64_t time)
{
	const uint64_t words[ID_MAP_WORDS] = {(uint64_t)pid};
	struct id_map_entry *e = id_map_find(&r->pids, words);

	if (!e)
		return -ENOMEM;
	if (!e->number) {
		if (r->n == r->capacity) {
			size_t capacity = r->capacity ? 2 * r->capacity : 16;
			struct seen_process *more = realloc(r->seen, capacity * sizeof(*more));

			if (!more)
				return -ENOMEM;
			r->seen = more;
			r->capacity = capacity;
		}
		id_map_fill(&r->pids, e, words, (uint32_t)r->n++);
	}
	r->seen[e->number - 1] = (struct seen_process){pid, time};
	return 0;
}

struct process_status {
	char state;
	uint64_t began; /* ns since the boot */
	uint64_t stack; /* where the stack began */
};

static bool read_process_status(pid_t pid, struct process_status *s)
{
	char path[64], text[1024];
	uint64_t ticks;
	const char *end;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	end = strrchr(text, ')'); /* of the name, which may contain anything */
	/* Fields 3, 22 and 28 of proc(5). */
	if (!end || sscanf(end + 1,
			   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
			   " %*s %*s %" SCNu64 " %*s %*s %*s %*s %*s %" SCNu64,
			   &s->state, &ticks, &s->stack) != 3)
		return false;
	s->began = ticks * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

static bool still_runs(const struct seen_process *p)
{
	uint64_t asleep = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	struct process_status s;

	return p->pid > 0 && read_process_status(p->pid, &s) && s.state != 'Z' && s.state != 'X' &&
	       s.began <= p->last + asleep + TOLERANCE_NS;
}

size_t running_count(const struct running *r, pid_t except)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->seen[i].pid != except && still_runs(&r->seen[i]);
	return n;
}

static pid_t tracer_of(pid_t pid)
{
	char path[64], line[256];
	int tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && !tracer && fgets(line, sizeof(line), f))
		sscanf(line, "TracerPid: %d", &tracer);
	if (f)
		fclose(f);
	return tracer;
}

pid_t running_traced(const struct running *r)
{
	for (size_t i = 0; i < r->n && i < TRACED_MAX; i++) {
		pid_t tracer = tracer_of(r->seen[i].pid);

		if (tracer && tracer != getpid())
			return r->seen[i].pid;
	}
	return 0;
}

void running_free(struct running *r)
{
	id_map_free(&r->pids);
	free(r->seen);
}

uint64_t running_image(pid_t pid)
{
	struct process_status s;

	return read_process_status(pid, &s) ? s.stack : 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asks /proc which of the recorded processes still run, and whether a debugger is attached to them.
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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "record/running.h"

#define SECOND_NS 1000000000ull
#define TOLERANCE_NS 20000000
#define LOOK_NS 10000000 /* a debugger's visit takes longer than that */

/* Returns the process, which is added if `add` is set. NULL: it was not found, or no memory. */
static struct seen_process *seen_of(struct running *r, pid_t pid, bool add)
{
	const uint64_t words[ID_MAP_WORDS] = {(uint64_t)pid};
	struct id_map_entry *e = id_map_find(&r->pids, words);

	if (e && !e->number && add) {
		if (array_grow_from(&r->seen, r->n, &r->capacity, 16, sizeof(*r->seen)))
			return NULL;
		r->seen[r->n] = (struct seen_process){.pid = pid};
		id_map_fill(&r->pids, e, words, (uint32_t)r->n++);
	}
	return e && e->number ? &r->seen[e->number - 1] : NULL;
}

int running_note(struct running *r, const struct pcce_rec_process *p)
{
	const struct seen_process *parent = seen_of(r, (pid_t)p->ppid, false);
	bool by_traced = parent && parent->traced;
	bool instrumented = parent && parent->instrumented;
	size_t n = r->n;
	struct seen_process *seen = seen_of(r, (pid_t)p->pid, true);

	if (!seen)
		return -ENOMEM;
	if (p->flags & PCCE_PROCESS_FORK || r->n > n)
		*seen = (struct seen_process){
			.pid = seen->pid, .traced = by_traced, .instrumented = instrumented};
	seen->last = p->time;
	return 0;
}

void running_note_instrumented(struct running *r, pid_t pid)
{
	struct seen_process *p = seen_of(r, pid, false);

	if (p)
		p->instrumented = true;
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

/* Returns the tracer, 0 if there is none or it is not known, or -1: the process has ended. */
static pid_t tracer_of(pid_t pid)
{
	char path[64], line[256];
	int tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -1 : 0;
	while (fgets(line, sizeof(line), f) && sscanf(line, "TracerPid: %d", &tracer) != 1)
		;
	fclose(f);
	return tracer;
}

/* Do both run one file? LeakSanitizer looks at its program that way, and calls nothing there. */
static bool is_same_program(pid_t a, pid_t b)
{
	struct stat first, second;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)a);
	if (stat(path, &first))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)b);
	return !stat(path, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* sure: a sample says so, even if the tracer has left meanwhile. */
static bool look_at(const struct running *r, struct seen_process *p, bool sure, bool *first)
{
	uint64_t now;
	pid_t tracer;

	*first = false;
	if (!p || p->traced || p->ended || !(p->instrumented || r->all))
		return p && p->traced;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now < p->asked + LOOK_NS)
		return false;
	p->asked = now;
	tracer = tracer_of(p->pid);
	p->ended = tracer < 0 && !sure;
	p->traced = tracer > 0 ? tracer != getpid() && !is_same_program(tracer, p->pid) : sure;
	*first = p->traced;
	return p->traced;
}

bool running_look(struct running *r, pid_t pid, bool *first)
{
	return look_at(r, seen_of(r, pid, false), false, first);
}

bool running_sample(struct running *r, pid_t pid, bool traced, bool *first)
{
	struct seen_process *p = seen_of(r, pid, false);

	*first = false;
	return traced ? look_at(r, p, true, first) : p && p->traced;
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

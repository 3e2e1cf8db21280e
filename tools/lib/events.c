/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of events: the kernel's generic ones by table, tracepoints through tracefs. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "events.h"

#define SW(name) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##name
#define HW(name) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name

static const struct {
	const char *name, *alias;
	unsigned int type, config;
	enum event_kind kind;
} events[] = {
	{"cpu-clock", NULL, SW(CPU_CLOCK), EVENT_CLOCK},
	{"task-clock", NULL, SW(TASK_CLOCK), EVENT_CLOCK},
	{"page-faults", "faults", SW(PAGE_FAULTS), EVENT_COUNT},
	{"minor-faults", NULL, SW(PAGE_FAULTS_MIN), EVENT_COUNT},
	{"major-faults", NULL, SW(PAGE_FAULTS_MAJ), EVENT_COUNT},
	{"context-switches", "cs", SW(CONTEXT_SWITCHES), EVENT_COUNT},
	{"cpu-migrations", "migrations", SW(CPU_MIGRATIONS), EVENT_COUNT},
	{"alignment-faults", NULL, SW(ALIGNMENT_FAULTS), EVENT_COUNT},
	{"emulation-faults", NULL, SW(EMULATION_FAULTS), EVENT_COUNT},
	{"cgroup-switches", NULL, SW(CGROUP_SWITCHES), EVENT_COUNT},
	{"cycles", "cpu-cycles", HW(CPU_CYCLES), EVENT_COUNT},
	{"instructions", NULL, HW(INSTRUCTIONS), EVENT_COUNT},
	{"cache-references", NULL, HW(CACHE_REFERENCES), EVENT_COUNT},
	{"cache-misses", NULL, HW(CACHE_MISSES), EVENT_COUNT},
	{"branches", "branch-instructions", HW(BRANCH_INSTRUCTIONS), EVENT_COUNT},
	{"branch-misses", NULL, HW(BRANCH_MISSES), EVENT_COUNT},
	{"bus-cycles", NULL, HW(BUS_CYCLES), EVENT_COUNT},
	{"stalled-cycles-frontend", NULL, HW(STALLED_CYCLES_FRONTEND), EVENT_COUNT},
	{"stalled-cycles-backend", NULL, HW(STALLED_CYCLES_BACKEND), EVENT_COUNT},
	{"ref-cycles", NULL, HW(REF_CPU_CYCLES), EVENT_COUNT},
};

static const char *tracefs(void)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	struct statfs fs;
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!statfs(places[i], &fs) && fs.f_type == TRACEFS_MAGIC)
			return places[i];
	return NULL;
}

static int parse_tracepoint(const char *name, struct perf_event_attr *attr, char *why, size_t why_size)
{
	const char *colon = strchr(name, ':'), *dir = tracefs();
	unsigned long long id;
	char path[512];
	FILE *f;
	int n;

	if (!dir) {
		snprintf(why, why_size,
			 "event %s is a tracepoint, which needs tracefs: mount -t tracefs nodev /sys/kernel/tracing",
			 name);
		return -ENOENT;
	}
	if (strchr(name, '/') || colon == name || !colon[1]) {
		snprintf(why, why_size, "event %s is not of the form SYSTEM:NAME", name);
		return -EINVAL;
	}
	snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", dir, (int)(colon - name), name, colon + 1);
	f = fopen(path, "re");
	if (!f) {
		int err = -errno;

		if (err == -ENOENT)
			snprintf(why, why_size, "there is no tracepoint %s; %s/available_events lists them", name, dir);
		else
			snprintf(why, why_size, "%s cannot be read: %s", path, strerror(-err));
		return err;
	}
	n = fscanf(f, "%llu", &id);
	fclose(f);
	if (n != 1) {
		snprintf(why, why_size, "%s does not hold a number", path);
		return -EINVAL;
	}
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = id;
	return 0;
}

int event_parse(const char *name, struct perf_event_attr *attr, enum event_kind *kind, char *why, size_t why_size)
{
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (strcmp(name, events[i].name) && (!events[i].alias || strcmp(name, events[i].alias)))
			continue;
		attr->type = events[i].type;
		attr->config = events[i].config;
		*kind = events[i].kind;
		return 0;
	}
	if (strchr(name, ':')) {
		*kind = EVENT_TRACEPOINT;
		return parse_tracepoint(name, attr, why, why_size);
	}
	snprintf(why, why_size,
		 "there is no event \"%s\"; known are cpu-clock, task-clock, page-faults, context-switches, "
		 "cpu-migrations, "
		 "cycles, instructions, cache-misses and their like, and tracepoints as SYSTEM:NAME",
		 name);
	return -EINVAL;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds events by name: the kernel's generic events in a table, tracepoints in tracefs. Opens
 * events and explains why this fails. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/similar.h"
#include "probe/event.h"
#include "probe/memory.h"
#include "sampler/perf_event.h"
#include "sampler/pmu_event.h"

#define SW(name) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##name
#define HW(name) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name
#define LOAD_MISSES(cache)                                                                   \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
				    PERF_COUNT_HW_CACHE_RESULT_MISS << 16

static const struct known_event {
	const char *name, *alias;
	unsigned int type, config;
	enum perf_event_kind kind;
} events[] = {
	{"cpu-clock", NULL, SW(CPU_CLOCK), PERF_EVENT_CLOCK},
	{"task-clock", NULL, SW(TASK_CLOCK), PERF_EVENT_CLOCK},
	{"off-cpu", NULL, SW(DUMMY), PERF_EVENT_WAITS},
	{"lock", NULL, SW(DUMMY), PERF_EVENT_LOCKS},
	{"malloc", NULL, SW(DUMMY), PERF_EVENT_ALLOCATION},
	{"page-faults", "faults", SW(PAGE_FAULTS), PERF_EVENT_COUNT},
	{"minor-faults", NULL, SW(PAGE_FAULTS_MIN), PERF_EVENT_COUNT},
	{"major-faults", NULL, SW(PAGE_FAULTS_MAJ), PERF_EVENT_COUNT},
	{"context-switches", "cs", SW(CONTEXT_SWITCHES), PERF_EVENT_COUNT},
	{"cpu-migrations", "migrations", SW(CPU_MIGRATIONS), PERF_EVENT_COUNT},
	{"alignment-faults", NULL, SW(ALIGNMENT_FAULTS), PERF_EVENT_COUNT},
	{"emulation-faults", NULL, SW(EMULATION_FAULTS), PERF_EVENT_COUNT},
	{"cgroup-switches", NULL, SW(CGROUP_SWITCHES), PERF_EVENT_COUNT},
	{"cycles", "cpu-cycles", HW(CPU_CYCLES), PERF_EVENT_COUNT},
	{"instructions", NULL, HW(INSTRUCTIONS), PERF_EVENT_COUNT},
	{"cache-references", NULL, HW(CACHE_REFERENCES), PERF_EVENT_COUNT},
	{"cache-misses", NULL, HW(CACHE_MISSES), PERF_EVENT_COUNT},
	{"branches", "branch-instructions", HW(BRANCH_INSTRUCTIONS), PERF_EVENT_COUNT},
	{"branch-misses", NULL, HW(BRANCH_MISSES), PERF_EVENT_COUNT},
	{"bus-cycles", NULL, HW(BUS_CYCLES), PERF_EVENT_COUNT},
	{"stalled-cycles-frontend", NULL, HW(STALLED_CYCLES_FRONTEND), PERF_EVENT_COUNT},
	{"stalled-cycles-backend", NULL, HW(STALLED_CYCLES_BACKEND), PERF_EVENT_COUNT},
	{"ref-cycles", NULL, HW(REF_CPU_CYCLES), PERF_EVENT_COUNT},
	{"L1-dcache-load-misses", NULL, LOAD_MISSES(L1D), PERF_EVENT_COUNT},
	{"LLC-load-misses", NULL, LOAD_MISSES(LL), PERF_EVENT_COUNT},
	{"dTLB-load-misses", NULL, LOAD_MISSES(DTLB), PERF_EVENT_COUNT},
};

#define N_EVENTS (sizeof(events) / sizeof(events[0]))

void perf_event_print_names(FILE *out)
{
	int column = 0;

	for (size_t i = 0; i < N_EVENTS; i++) {
		int width = (int)strlen(events[i].name) + 2;

		if (column && column + width > 78) {
			fputc('\n', out);
			column = 0;
		}
		fprintf(out, "  %s", events[i].name);
		column += width;
	}
	fputc('\n', out);
}

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

static int parse_tracepoint(const char *name, struct perf_event_attr *attr, struct error *why)
{
	const char *colon = strchr(name, ':'), *dir = tracefs();
	unsigned long long id;
	char path[512];
	FILE *f;
	int n;

	if (!dir)
		return error_set(why, -ENOENT,
				 "the event %s is a tracepoint and needs tracefs; mount it with "
				 "mount -t tracefs nodev /sys/kernel/tracing",
				 name);
	if (strchr(name, '/') || colon == name || !colon[1])
		return error_set(why, -EINVAL, "the event %s does not have the form SYSTEM:NAME",
				 name);
	snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", dir, (int)(colon - name), name,
		 colon + 1);
	f = fopen(path, "re");
	if (!f) {
		int err = -errno;

		if (err == -ENOENT)
			error_set(why, 0, "unknown tracepoint %s; %s/available_events lists all",
				  name, dir);
		else
			error_set(why, 0, "cannot read %s: %s", path, strerror(-err));
		return err;
	}
	n = fscanf(f, "%llu", &id);
	fclose(f);
	if (n != 1)
		return error_set(why, -EINVAL, "cannot read %s: it does not contain a number",
				 path);
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = id;
	return 0;
}

static bool is_name(const char *name, size_t length, const char *of)
{
	return of && !strncmp(name, of, length) && !of[length];
}

/* Returns the event of the table with this name before its modifiers, or NULL. */
static const struct known_event *find_event(const char *name)
{
	size_t length = strcspn(name, ":");

	for (size_t i = 0; i < N_EVENTS; i++)
		if (is_name(name, length, events[i].name) || is_name(name, length, events[i].alias))
			return &events[i];
	return NULL;
}

bool perf_event_is_rare(const char *name)
{
	const struct known_event *e = find_event(name);

	return e ? (e->type == PERF_TYPE_SOFTWARE && e->kind == PERF_EVENT_COUNT) ||
			       e->kind == PERF_EVENT_ALLOCATION
		 : !pmu_event_is(name) && strchr(name, ':');
}

bool perf_event_is_waits(const char *name)
{
	const struct known_event *e = find_event(name);

	return e && perf_event_kind_waits(e->kind);
}

bool perf_event_is_locks(const char *name)
{
	return !strcmp(name, "lock");
}

bool perf_event_is_allocations(const char *name)
{
	const struct known_event *e = find_event(name);

	return e && e->kind == PERF_EVENT_ALLOCATION;
}

/* Reads the modifiers of perf: u and k mean only user code or the kernel, each p more precision. */
static int parse_modifiers(const char *name, struct perf_event_attr *attr, struct error *why)
{
	const char *m = strchr(name, ':');
	bool user = m && strchr(m, 'u'), kernel = m && strchr(m, 'k');
	size_t precise = 0;

	if (!m)
		return 0;
	for (const char *p = m + 1; *p; p++)
		precise += *p == 'p';
	if (!m[1] || m[1 + strspn(m + 1, "ukp")] || precise > 3)
		return error_set(why, -EINVAL,
				 "the event %s has an unknown modifier; use u (only user code), k "
				 "(only the kernel) or up to three p (precise)",
				 name);
	attr->exclude_kernel = user && !kernel;
	attr->exclude_user = kernel && !user;
	attr->precise_ip = precise;
	return 0;
}

/* Is this SYSTEM:NAME? No tracepoint has a name like ":u". */
static bool is_tracepoint(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && (!colon[1] || colon[1 + strspn(colon + 1, "ukp")]);
}

static int refuse_event(const char *name, struct error *why)
{
	char near[256] = "", word[64];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, ":"), name);
	for (size_t i = 0; i < N_EVENTS; i++) {
		similar_add(near, sizeof(near), word, events[i].name);
		if (events[i].alias)
			similar_add(near, sizeof(near), word, events[i].alias);
	}
	return error_set(
		why, -EINVAL,
		"unknown event \"%s\"; %s%s%spcce-record --help lists all, and a tracepoint is "
		"written as SYSTEM:NAME",
		name, *near ? "did you mean " : "", near, *near ? "? " : "");
}

static int parse_event(const char *name, struct perf_event_attr *attr, enum perf_event_kind *kind,
		       struct error *why)
{
	const struct known_event *e = find_event(name);
	int err;

	if (e) {
		attr->type = e->type;
		attr->config = e->config;
		*kind = e->kind;
		if (!strcmp(name, PERF_EVENT_HOLDER)) {
			*kind = PERF_EVENT_HOLDERS;
			return 0;
		}
		return parse_modifiers(name, attr, why);
	}
	if (probe_event_is(name)) {
		*kind = PERF_EVENT_PROBE;
		return 0;
	}
	if (pmu_event_is(name)) {
		*kind = PERF_EVENT_COUNT;
		err = pmu_event_parse(PMU_DEVICES, name, attr, why);
		return err ? err : parse_modifiers(name, attr, why);
	}
	if (memory_event_is(name)) {
		attr->type = PERF_TYPE_BREAKPOINT;
		*kind = PERF_EVENT_COUNT;
		return 0;
	}
	if (is_tracepoint(name)) {
		*kind = PERF_EVENT_TRACEPOINT;
		return parse_tracepoint(name, attr, why);
	}
	return refuse_event(name, why);
}

int perf_event_make_attr(const struct sampler_event *event, struct perf_event_attr *attr,
			 enum perf_event_kind *kind, struct error *why)
{
	int err;

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->inherit = 1;
	attr->exclude_hv = 1;
	attr->exclude_guest = 1;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (event->frequency) {
		attr->freq = 1;
		attr->sample_freq = event->frequency;
	} else {
		attr->sample_period = event->period ? event->period : 1;
	}
	err = parse_event(event->name, attr, kind, why);
	if (!err && *kind == PERF_EVENT_ALLOCATION)
		return error_set(why, -ENODEV, "the event %s is the sampler self's; use -b self",
				 event->name);
	if (!err && *kind == PERF_EVENT_COUNT && event->period > UINT32_MAX)
		err = error_set(why, -EINVAL,
				"a sample cannot represent more than %u events, and the period of "
				"%s is longer; use a smaller -c",
				UINT32_MAX, event->name);
	if (!err && perf_event_kind_waits(*kind) && (attr->exclude_kernel || attr->exclude_user))
		err = error_set(why, -EINVAL,
				"the event %s has no modifiers: who waits is in the kernel",
				event->name);
	return err;
}

const char *perf_event_program(const struct sampler_config *config, char buffer[PERF_EVENT_PROGRAM])
{
	if (!config->n_targets)
		return config->program;
	snprintf(buffer, PERF_EVENT_PROGRAM, "/proc/%d/exe", (int)config->targets[0]);
	return buffer;
}

int perf_event_find_probe(const struct sampler_config *config, const char *name,
			  struct probe_event *out, struct error *why)
{
	char buffer[PERF_EVENT_PROGRAM];

	return probe_event_find(name, perf_event_program(config, buffer), out, why);
}

int perf_event_find_memory(const struct sampler_config *config, const char *name,
			   struct perf_event_attr *attr, bool *moves, struct error *why)
{
	char buffer[PERF_EVENT_PROGRAM];

	return memory_event_find(name, perf_event_program(config, buffer), attr, moves, why);
}

int perf_event_check(const struct sampler_config *config, const char *name, struct error *why)
{
	struct perf_event_attr attr = {0};
	struct probe_event probe = {0};
	enum perf_event_kind kind;
	bool moves;
	int err = parse_event(name, &attr, &kind, why);

	if (!err && kind == PERF_EVENT_PROBE)
		err = perf_event_find_probe(config, name, &probe, why);
	else if (!err && attr.type == PERF_TYPE_BREAKPOINT)
		err = perf_event_find_memory(config, name, &attr, &moves, why);
	probe_event_free(&probe);
	return err;
}

int perf_event_create(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

unsigned int perf_event_rate_limit(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned int limit;

	if (!f || fscanf(f, "%u", &limit) != 1)
		limit = 0;
	if (f)
		fclose(f);
	return limit;
}

int perf_event_explain(const struct sampler_event *event, int err, struct error *why)
{
	unsigned int limit;

	switch (-err) {
	case EINVAL:
		limit = perf_event_rate_limit();
		if (limit && event->frequency > limit) {
			error_set(why, 0,
				  "%llu samples per second exceed the kernel's limit of %u; use a "
				  "lower -F, or raise kernel.perf_event_max_sample_rate",
				  (unsigned long long)event->frequency, limit);
			break;
		}
		/* fallthrough */
	default:
		error_set(why, 0, "cannot open the event %s: perf_event_open: %s", event->name,
			  strerror(-err));
		break;
	case ENOENT:
	case EOPNOTSUPP:
		if (err == -ENOENT && probe_event_is(event->name) &&
		    !probe_event_is_kernel(event->name))
			error_set(why, 0,
				  "cannot set %s: its file is gone, or the process has ended",
				  event->name);
		else
			error_set(why, 0, "this machine does not support the event %s",
				  event->name);
		break;
	case EPERM:
	case EACCES:
	case ENOSYS:
		error_set(why, 0,
			  "cannot use perf_event_open: %s: a container's seccomp filter, a "
			  "security module or kernel.perf_event_paranoid forbids it",
			  strerror(-err));
		break;
	case ENOSPC:
		error_set(
			why, 0,
			"cannot watch %s: the processor watches only 4 addresses at a time; leave "
			"out some of them, also those of debuggers",
			event->name);
		break;
	case EMFILE:
	case ENFILE:
		error_set(why, 0,
			  "cannot open an event for each thread: too many open files; raise the "
			  "limit with ulimit -n");
		break;
	}
	return err;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Translates names of hardware events, with made folders of devices, and reads their rates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/event_list.h"
#include "sampler/pmu_event.h"
#include "tests/unit/tap.h"

static char root[] = "/tmp/pcce-pmu.XXXXXX";
static const struct made {
	const char *path, *line;
} files[] = {
	{"chip", NULL},
	{"chip/type", "42\n"},
	{"chip/format", NULL},
	{"chip/format/event", "config:0-7,32-35\n"},
	{"chip/format/umask", "config:8-15\n"},
	{"chip/format/edge", "config:18\n"},
	{"chip/format/limit", "config1:0-63\n"},
	{"chip/format/odd", "config7:0-3\n"},
	{"chip/format/broken", "nothing\n"},
	{"chip/format/far", "config:60-90\n"},
	{"chip/events", NULL},
	{"chip/events/slow", "event=0xabc,umask=0x12,edge\n"},
	{"chip/events/loop", "loop\n"},
};
#define N_FILES (sizeof(files) / sizeof(files[0]))

static void make_devices(void)
{
	char path[128];

	if (!mkdtemp(root))
		abort();
	for (size_t i = 0; i < N_FILES; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", root, files[i].path);
		if (!files[i].line) {
			mkdir(path, 0700);
			continue;
		}
		f = fopen(path, "w");
		if (!f)
			abort();
		fputs(files[i].line, f);
		fclose(f);
	}
}

static void remove_devices(void)
{
	char path[128];

	for (size_t i = N_FILES; i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", root, files[i].path);
		remove(path);
	}
	remove(root);
}

static void is_event(const char *name, unsigned int type, uint64_t config, uint64_t config1)
{
	struct perf_event_attr attr = {0};
	struct error why = {0};
	int err = pmu_event_parse(root, name, &attr, &why);

	tap_ok(!err && pmu_event_is(name) && attr.type == type && attr.config == config &&
		       attr.config1 == config1,
	       name, "%s: type %u, config %#llx, config1 %#llx", why.text, attr.type,
	       (unsigned long long)attr.config, (unsigned long long)attr.config1);
}

static void is_refused(const char *name, const char *words)
{
	struct perf_event_attr attr = {0};
	struct error why = {0};
	int err = pmu_event_parse(root, name, &attr, &why);

	tap_ok(err && strstr(why.text, words), name, "%d: %s", err, why.text);
}

static void has_rate(const char *arg, const char *name, uint64_t frequency, uint64_t period)
{
	struct event_list l = {0};
	struct error why = {0};
	int err = event_list_add(&l, arg, &why);

	tap_ok(!err && l.n == 1 && !strcmp(l.of->name, name) && l.of->frequency == frequency &&
		       l.of->period == period,
	       arg, "%s: %s, %llu Hz, period %llu", why.text, l.of->name,
	       (unsigned long long)l.of->frequency, (unsigned long long)l.of->period);
}

static void has_no_rate(const char *arg)
{
	struct event_list l = {0};
	struct error why = {0};

	tap_ok(event_list_add(&l, arg, &why) != 0, arg, "it is accepted");
}

int main(void)
{
	make_devices();
	is_event("r1c2", PERF_TYPE_RAW, 0x1c2, 0);
	is_event("rFF:u", PERF_TYPE_RAW, 0xff, 0);
	is_event("chip/event=0xabc,umask=1/", 42, 0xa000001bcULL, 0);
	is_event("chip/slow/", 42, 0xa000412bcULL, 0);
	is_event("chip/slow,umask=0,limit=7/:pp", 42, 0xa000400bcULL, 7);
	is_event("chip/edge/", 42, 1 << 18, 0);
	is_refused("chip/event=0x1000/", "the value of event is too large");
	is_refused("chip/event=x/", "no number");
	is_refused("chip/evnt=1/", "chip has no field evnt; it has event");
	is_refused("chip/slo/", "chip has no event slo; it has slow");
	is_refused("chip/odd=1/", "a format that pcce does not know");
	is_refused("chip/broken=1/", "a format that pcce does not know");
	is_refused("chip/far=1/", "a format that pcce does not know");
	is_refused("chip/loop/", "chip has no event loop");
	is_refused("chop/event=1/", "no events of chop; it has those of chip");
	is_refused("chip/event=1", "the name must be");
	is_refused("chip//", "the name must be");
	is_refused("chip/../type/", "the name must be");
	is_refused("../event=1/", "this machine has no events of");
	is_refused("r12345678901234567", "more than 64 bits");
	tap_ok(!pmu_event_is("ref-cycles") && !pmu_event_is("r") && !pmu_event_is("mem:0x10/4") &&
		       !pmu_event_is("rxx"),
	       "other names are none", "one is");
	has_rate("cycles/freq=99/", "cycles", 99, 0);
	has_rate("chip/event=1,period=7,umask=2/:u", "chip/event=1,umask=2/:u", 0, 7);
	has_rate("chip/slow/", "chip/slow/", 0, 0);
	has_rate("r12/period=5/", "r12", 0, 5);
	has_rate("mem:0x10/4:w", "mem:0x10/4:w", 0, 0);
	has_no_rate("chip/period=1,freq=2/");
	has_no_rate("chip/event=1");
	has_no_rate("cycles/period=1/:u");
	has_no_rate("/event=1");
	remove_devices();
	return tap_done();
}

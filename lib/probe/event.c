/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See event.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/similar.h"
#include "elf/module.h"
#include "probe/event.h"
#include "probe/place.h"
#include "probe/usdt.h"

#define DEVICES "/sys/bus/event_source/devices"
#define RETURNS 1u	   /* in perf_event_attr.config */
#define SEMAPHORE_SHIFT 32 /* ... from this bit on: the semaphore's offset */

static const struct probe_kind {
	const char *prefix, *device;
	uint32_t flags;
	bool is_static;
} kinds[] = {
	{"uprobe:", "uprobe", 0, false},
	{"uretprobe:", "uprobe", RETURNS, false},
	{"usdt:", "uprobe", 0, true},
	{"kprobe:", "kprobe", 0, false},
	{"kretprobe:", "kprobe", RETURNS, false},
};

static const struct probe_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)))
			return &kinds[i];
	return NULL;
}

bool probe_event_is(const char *name)
{
	return find_kind(name) != NULL;
}

bool probe_event_is_kernel(const char *name)
{
	const struct probe_kind *k = find_kind(name);

	return k && *k->device == 'k';
}

bool probe_event_is_of_returns(const char *name)
{
	const struct probe_kind *k = find_kind(name);

	return k && k->flags & RETURNS;
}

/* ---- places --------------------------------------------------------------------- */

/* A search in a file, whose results become spots. */
struct spot_search {
	struct probe_event *event;
	struct elf_module module;
	const char *provider, *name; /* USDT */
	char others[512];	     /* names of other probes */
	bool indirect, failed, handles_exceptions;
};

/* Returns the offset in the file of what is at a link-time address. False: the file has nothing
 * there. */
static bool offset_in_file(const struct elf_module *m, uint64_t address, uint64_t *offset)
{
	const struct elf_segment *s = elf_module_segment(m, address);

	if (!s || address - s->vaddr >= s->file_size)
		return false;
	*offset = s->offset + (address - s->vaddr);
	return true;
}

static bool has_handlers(const struct elf_module *m)
{
	return elf_module_section(m, ".gcc_except_table", NULL) != NULL;
}

static void add_spot(struct spot_search *s, uint64_t address, uint64_t semaphore)
{
	struct probe_event *e = s->event;
	struct probe_spot spot = {0};

	if (!offset_in_file(&s->module, address, &spot.offset) ||
	    (semaphore && !offset_in_file(&s->module, semaphore, &spot.semaphore)) ||
	    spot.semaphore > UINT32_MAX)
		return;
	for (size_t i = 0; i < e->n; i++)
		if (e->spots[i].offset == spot.offset)
			return;
	if (array_grow(&e->spots, e->n, sizeof(*e->spots)))
		s->failed = true;
	else
		e->spots[e->n++] = spot;
}

static void add_probed_place(void *ctx, const struct probe_place *p)
{
	struct spot_search *s = ctx;

	s->indirect |= p->indirect;
	if (!p->indirect)
		add_spot(s, p->address, 0);
}

static void add_static(void *ctx, const struct usdt_probe *p)
{
	struct spot_search *s = ctx;
	size_t at = strlen(s->others);
	char text[256];

	if (!strcmp(p->provider, s->provider) && !strcmp(p->name, s->name)) {
		add_spot(s, p->address, p->semaphore);
		return;
	}
	snprintf(text, sizeof(text), "%s:%s", p->provider, p->name);
	if (!strstr(s->others, text) && at + strlen(text) + 3 < sizeof(s->others))
		snprintf(s->others + at, sizeof(s->others) - at, "%s%s", at ? ", " : "", text);
}

static int find_function(struct spot_search *s, const char *path, const char *function,
			 struct error *why)
{
	char near[256];
	int n = probe_find(path, function, add_probed_place, s, why);

	if (n < 0 || s->event->n)
		return n < 0 ? n : 0;
	if (s->indirect)
		return error_set(why, -ENOENT,
				 "chooses %s when it is loaded (IFUNC); name the function that it "
				 "chooses",
				 function);
	probe_find_similar(path, function, near, sizeof(near));
	return error_set(why, -ENOENT, "has no function %s%s%s%s", function,
			 *near ? "; did you mean " : ", or it was inlined everywhere", near,
			 *near ? "?" : "");
}

static int find_static(struct spot_search *s, const char *path, const char *probe,
		       struct error *why)
{
	const char *colon = strchr(probe, ':');
	char *provider = strndup(probe, colon ? (size_t)(colon - probe) : 0);
	int n;

	if (!provider)
		return error_memory(why);
	s->provider = provider;
	s->name = colon ? colon + 1 : "";
	n = usdt_read(path, add_static, s, why);
	free(provider);
	if (n < 0 || s->event->n)
		return n < 0 ? n : 0;
	return error_set(why, -ENOENT, "has no USDT probe %s; it has %s", probe,
			 *s->others ? s->others : "none");
}

static int open_probed(const char *path, struct elf_module *m, struct error *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;

	if (fd < 0)
		return error_set(why, -errno, "cannot be opened: %s", strerror(errno));
	err = elf_module_open_fd(fd, m, why);
	close(fd);
	return err;
}

static int find_spots(struct spot_search *s, const char *what, bool is_static, struct error *why)
{
	const char *path = s->event->target;
	int err = open_probed(path, &s->module, why);

	if (err)
		return err;
	err = is_static ? find_static(s, path, what, why) : find_function(s, path, what, why);
	s->handles_exceptions = has_handlers(&s->module);
	elf_module_close(&s->module);
	return !err && s->failed ? error_memory(why) : err;
}

/*
 * To see a return, the kernel puts another return address on the stack. No unwinder knows it, so an
 * exception that passes the function would end the program. C code without handlers of any kind can
 * have probes of returns: longjmp() and pthread_exit() do pass them.
 */
static int refuse_exceptions(const struct spot_search *s, const char *program, struct error *why)
{
	const char *path = s->handles_exceptions ? s->event->target : NULL;
	struct elf_module m;

	if (!path && program && !open_probed(program, &m, NULL)) {
		if (has_handlers(&m))
			path = program;
		elf_module_close(&m);
	}
	return path ? error_set(why, -EOPNOTSUPP,
				"%s handles exceptions, and an exception that passes a probe of "
				"returns ends the program; use uprobe, which shows the same "
				"contexts one call deeper",
				path)
		    : 0;
}

/* ---- names ---------------------------------------------------------------------- */

/* Reads the type of events of a device, as the kernel numbers it. */
static int read_device(const struct probe_kind *k, struct probe_event *e, struct error *why)
{
	char path[128];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), DEVICES "/%s/type", k->device);
	f = fopen(path, "re");
	if (!f)
		return error_set(why, -EOPNOTSUPP, "this kernel has no %ss (%s is missing)",
				 k->device, path);
	n = fscanf(f, "%u", &e->type);
	fclose(f);
	return n == 1 ? 0 : error_set(why, -EINVAL, "%s does not contain a number", path);
}

/* Is this a function of the kernel? If not, lists similar ones. A kernel that shows no names may
 * have it. */
static bool kernel_has_function(const char *function, char *near, size_t size)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	bool found = false, any = false;
	char name[256], type;

	while (f && !found && fscanf(f, "%*s %c %255s%*[^\n]", &type, name) == 2) {
		if (type != 't' && type != 'T')
			continue;
		any = true;
		found = !strcmp(name, function);
		similar_add(near, size, function, name);
	}
	if (f)
		fclose(f);
	return found || !any;
}

static int find_in_kernel(const char *function, struct probe_event *e, struct error *why)
{
	char near[256] = "";

	if (!kernel_has_function(function, near, sizeof(near)))
		return error_set(why, -ENOENT, "the kernel has no function %s%s%s%s", function,
				 *near ? "; did you mean " : "", near, *near ? "?" : "");
	e->target = strdup(function);
	if (!e->target || array_grow(&e->spots, e->n, sizeof(*e->spots)))
		return error_memory(why);
	e->spots[e->n++] = (struct probe_spot){0};
	return 0;
}

static int find_in_file(const struct probe_kind *k, const char *rest, const char *program,
			struct probe_event *e, struct error *why)
{
	const char *colon = strchr(rest, ':'), *slash = strchr(rest, '/');
	bool has_file = colon && slash && slash < colon;
	const char *what = has_file ? colon + 1 : rest;
	struct spot_search s = {.event = e};
	struct error because = {0};
	int err;

	if (!*what || (k->is_static && !strchr(what, ':')))
		return error_set(why, -EINVAL, "the name must be %s[FILE:]%s, with a / in FILE",
				 k->prefix, k->is_static ? "PROVIDER:NAME" : "FUNCTION");
	if (!has_file && !program)
		return error_set(why, -EINVAL, "there is no program; name its file, as %sFILE:%s",
				 k->prefix, what);
	e->target = has_file ? strndup(rest, (size_t)(colon - rest)) : strdup(program);
	if (!e->target)
		return error_memory(why);
	err = find_spots(&s, what, k->is_static, &because);
	if (err)
		return error_set(why, err, "%s %s", e->target, because.text);
	return k->flags & RETURNS ? refuse_exceptions(&s, program, why) : 0;
}

int probe_event_find(const char *name, const char *program, struct probe_event *out,
		     struct error *why)
{
	const struct probe_kind *k = find_kind(name);
	const char *rest = name + strlen(k->prefix);
	int err;

	*out = (struct probe_event){.flags = k->flags};
	err = read_device(k, out, why);
	if (err)
		return err;
	return *k->device == 'k' ? find_in_kernel(rest, out, why)
				 : find_in_file(k, rest, program, out, why);
}

void probe_event_free(struct probe_event *e)
{
	free(e->target);
	free(e->spots);
}

void probe_event_set(const struct probe_event *e, size_t spot, struct perf_event_attr *attr)
{
	attr->type = e->type;
	attr->config = e->flags | e->spots[spot].semaphore << SEMAPHORE_SHIFT;
	attr->config1 = (uint64_t)(uintptr_t)e->target;
	attr->config2 = e->spots[spot].offset;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See pmu_event.h. Fields of a device are files, such as format/umask with "config:8-15". */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/similar.h"
#include "sampler/pmu_event.h"

#define LIST_MAX 512

static bool is_raw(const char *name)
{
	size_t digits = strspn(name + 1, "0123456789abcdefABCDEF");

	return *name == 'r' && digits && (!name[1 + digits] || name[1 + digits] == ':');
}

bool pmu_event_is(const char *name)
{
	return is_raw(name) || name[strcspn(name, "/:")] == '/';
}

/* A device with its folder. */
struct pmu {
	const char *devices, *name;
	struct perf_event_attr *attr;
	struct error *why;
};

/* Reads the first line of a file of the device. */
static bool read_device_line(const struct pmu *p, const char *folder, const char *name, char *to,
			     size_t size)
{
	char path[LIST_MAX];
	bool found;
	FILE *f;

	if (strchr(name, '/') || snprintf(path, sizeof(path), "%s/%s/%s%s", p->devices, p->name,
					  folder, name) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	found = fgets(to, (int)size, f) != NULL;
	fclose(f);
	if (found)
		to[strcspn(to, "\n")] = 0;
	return found;
}

/* Lists what is in a folder of the device and has a similar name; with none, all of it. */
static void list_similar(const struct pmu *p, const char *folder, const char *wanted, char *list,
			 size_t size)
{
	char path[LIST_MAX], all[LIST_MAX] = "";
	struct dirent *entry;
	DIR *d;

	*list = 0;
	snprintf(path, sizeof(path), "%s/%s/%s", p->devices, p->name, folder);
	d = opendir(path);
	while (d && (entry = readdir(d))) {
		size_t at = strlen(all);

		if (*entry->d_name == '.')
			continue;
		similar_add(list, size, wanted, entry->d_name);
		snprintf(all + at, sizeof(all) - at, "%s%s", at ? ", " : "", entry->d_name);
	}
	if (d)
		closedir(d);
	if (!*list)
		snprintf(list, size, "%s", *all ? all : "nothing");
}

/* Puts a value into the bits of a field: "config:0-7,32-35". */
static int set_field(const struct pmu *p, const char *term, char *format, uint64_t value)
{
	char *bits = strchr(format, ':'), *range, *rest;
	__u64 *word;

	if (!bits)
		return -EINVAL;
	*bits++ = 0;
	if (!strcmp(format, "config"))
		word = &p->attr->config;
	else if (!strcmp(format, "config1"))
		word = &p->attr->config1;
	else if (!strcmp(format, "config2"))
		word = &p->attr->config2;
	else
		return -EINVAL;
	for (rest = bits; (range = strsep(&rest, ","));) {
		unsigned int from, to;
		int n = sscanf(range, "%u-%u", &from, &to);

		if (n == 1)
			to = from;
		if (n < 1 || from > to || to > 63)
			return -EINVAL;
		for (unsigned int bit = from; bit <= to; bit++, value >>= 1)
			*word = (*word & ~(1ULL << bit)) | (value & 1) << bit;
	}
	return value ? error_set(p->why, -ERANGE, "the value of %s is too large", term) : 0;
}

static int set_terms(const struct pmu *p, char *terms, bool nested);

static int set_term(const struct pmu *p, char *term, bool nested)
{
	char *equals = strchr(term, '='), *end = NULL, line[LIST_MAX], near[256];
	uint64_t value = 1;
	int err;

	if (!equals && !nested && read_device_line(p, "events/", term, line, sizeof(line)))
		return set_terms(p, line, true);
	if (equals) {
		*equals = 0;
		errno = 0;
		value = strtoull(equals + 1, &end, 0);
		if (!isdigit((unsigned char)equals[1]) || *end || errno)
			return error_set(p->why, -EINVAL, "the value of %s is no number", term);
	}
	if (read_device_line(p, "format/", term, line, sizeof(line))) {
		err = set_field(p, term, line, value);
		return err == -EINVAL ? error_set(p->why, err,
						  "the field %s of %s has a format that pcce does "
						  "not know",
						  term, p->name)
				      : err;
	}
	list_similar(p, equals ? "format" : "events", term, near, sizeof(near));
	return error_set(p->why, -ENOENT, "%s has no %s %s; it has %s", p->name,
			 equals ? "field" : "event", term, near);
}

static int set_terms(const struct pmu *p, char *terms, bool nested)
{
	char *term;
	int err = 0;

	while (!err && (term = strsep(&terms, ",")))
		err = set_term(p, term, nested);
	return err;
}

static int parse_device(const char *devices, char *name, struct perf_event_attr *attr,
			struct error *why)
{
	struct pmu p = {devices, name, attr, why};
	char *terms = strchr(name, '/'), *end, line[32], near[256];

	*terms++ = 0;
	end = strchr(terms, '/');
	if (!end || end == terms || (end[1] && end[1] != ':'))
		return error_set(why, -EINVAL,
				 "the name must be DEVICE/FIELD=VALUE,.../ or DEVICE/EVENT/");
	*end = 0;
	if (!*name || *name == '.' || !read_device_line(&p, "", "type", line, sizeof(line))) {
		p.name = "";
		list_similar(&p, "", name, near, sizeof(near));
		return error_set(why, -ENOENT,
				 "this machine has no events of %s; it has those of %s", name,
				 near);
	}
	attr->type = (__u32)strtoul(line, NULL, 10);
	return set_terms(&p, terms, false);
}

int pmu_event_parse(const char *devices, const char *name, struct perf_event_attr *attr,
		    struct error *why)
{
	char *copy;
	int err;

	if (is_raw(name)) {
		errno = 0;
		attr->type = PERF_TYPE_RAW;
		attr->config = strtoull(name + 1, NULL, 16);
		return errno ? error_set(why, -ERANGE, "the number has more than 64 bits") : 0;
	}
	copy = strdup(name);
	err = copy ? parse_device(devices, copy, attr, why) : error_memory(why);
	free(copy);
	return err;
}

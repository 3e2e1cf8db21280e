/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds numbers of processes in /proc/N/status, which has all of them, from our namespace down to
 * the process's own (NSpid). A hash table keeps known processes. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/uthash.h"
#include "sampler/pidns.h"

#define HEADING "NSpid:"
#define NAMESPACES 33 /* 1 + the kernel's MAX_PID_NS_LEVEL */

struct key {
	uint64_t ns, pid;
};

struct known {
	struct key key;
	pid_t ours;
	UT_hash_handle hh;
};

struct pidns {
	uint64_t own;
	int depth; /* levels of our namespace below that of /proc */
	struct known *known;
	pid_t made_up; /* next number that no process has */
};

static uint64_t namespace_of(const char *process)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", process);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* Reads the numbers of a process, the outermost first, up to max. */
static int numbers_of(const char *process, pid_t *pids, int max)
{
	char path[300], line[1024];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", process);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = line + strlen(HEADING), *end;

		if (strncmp(line, HEADING, strlen(HEADING)) != 0)
			continue;
		for (; n < max; at = end) {
			pids[n] = (pid_t)strtol(at, &end, 10);
			if (end == at)
				break;
			n++;
		}
		break;
	}
	if (f)
		fclose(f);
	return n;
}

static pid_t find_in_proc(const struct pidns *p, uint64_t ns, pid_t pid)
{
	DIR *d = opendir("/proc");
	pid_t pids[NAMESPACES], ours = 0;
	struct dirent *entry;

	while (d && !ours && (entry = readdir(d))) {
		int n;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    namespace_of(entry->d_name) != ns)
			continue;
		n = numbers_of(entry->d_name, pids, NAMESPACES);
		if (n > p->depth && pids[n - 1] == pid)
			ours = pids[p->depth];
	}
	if (d)
		closedir(d);
	return ours;
}

struct pidns *pidns_new(void)
{
	struct pidns *p = calloc(1, sizeof(*p));
	pid_t pids[NAMESPACES];

	if (p) {
		p->own = namespace_of("self");
		p->depth = numbers_of("self", pids, NAMESPACES) - 1;
		if (p->depth < 0)
			p->own = 0;
		p->made_up = PIDNS_MADE_UP;
	}
	return p;
}

void pidns_free(struct pidns *p)
{
	if (!p)
		return;
	hash_free(p->known, free);
	free(p);
}

pid_t pidns_translate(struct pidns *p, uint64_t ns, pid_t pid, int fresh)
{
	struct key key = {ns, (uint64_t)pid};
	struct known *k;

	if (!ns || !p->own || ns == p->own)
		return pid;
	HASH_FIND(hh, p->known, &key, sizeof(key), k);
	if (k && !fresh)
		return k->ours;
	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k)
			return p->made_up++;
		k->key = key;
		if (!hash_add(p->known, key, k))
			return p->made_up++;
	}
	k->ours = find_in_proc(p, ns, pid);
	if (!k->ours)
		k->ours = p->made_up++;
	return k->ours;
}

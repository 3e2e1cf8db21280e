/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the log with a hash table of processes, each with a list of mappings in the order of
 * arrival. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/uthash.h"
#include "sampler/remap_log.h"
#include <pcce/sample.h>

struct remap {
	uint64_t time, start, end;
};

struct process {
	pid_t pid;
	struct remap *list;
	size_t n, capacity;
	UT_hash_handle hh;
};

struct remap_log {
	struct process *processes;
};

struct remap_log *remap_log_new(void)
{
	return calloc(1, sizeof(struct remap_log));
}

static void drop_process(struct remap_log *r, struct process *p)
{
	HASH_DEL(r->processes, p);
	free(p->list);
	free(p);
}

void remap_log_free(struct remap_log *r)
{
	struct process *p, *next;

	if (!r)
		return;
	HASH_ITER (hh, r->processes, p, next)
		drop_process(r, p);
	free(r);
}

int remap_log_note(struct remap_log *r, const struct perf_sideband_event *e)
{
	struct process *p;
	struct remap *more;

	if (e->type != SIDEBAND_MAP)
		return 0;
	HASH_FIND_INT(r->processes, &e->pid, p);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->pid = e->pid;
		HASH_ADD_INT(r->processes, pid, p);
		if (!hash_added(p)) {
			free(p);
			return -ENOMEM;
		}
	}
	if (p->n == p->capacity) {
		more = reallocarray(p->list, p->capacity ? 2 * p->capacity : 8, sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->list = more;
		p->capacity = p->capacity ? 2 * p->capacity : 8;
	}
	p->list[p->n++] = (struct remap){e->time, e->start, e->start + e->length};
	return 0;
}

static bool covers(const struct remap *m, uint64_t address)
{
	return address >= m->start && address < m->end;
}

bool remap_log_concern(const struct remap_log *r, const struct pcce_sample *sample, uint64_t last)
{
	const struct pcce_entry *entries = pcce_sample_entries(sample);
	int pid = (int)sample->pid;
	const struct process *p;
	size_t i;
	uint32_t k;

	HASH_FIND_INT(r->processes, &pid, p);
	for (i = 0; p && i < p->n; i++) {
		const struct remap *m = &p->list[i];

		if (m->time <= sample->time || m->time > last)
			continue;
		if (sample->n_below || covers(m, sample->ip) || covers(m, sample->ext))
			return true;
		for (k = 0; k < sample->n_entries; k++)
			if (covers(m, entries[k].site & PCCE_SITE_MASK))
				return true;
	}
	return false;
}

void remap_log_forget(struct remap_log *r, uint64_t before)
{
	struct process *p, *next;
	size_t i, kept;

	HASH_ITER (hh, r->processes, p, next) {
		for (i = 0, kept = 0; i < p->n; i++)
			if (p->list[i].time >= before)
				p->list[kept++] = p->list[i];
		p->n = kept;
		if (!kept)
			drop_process(r, p);
	}
}

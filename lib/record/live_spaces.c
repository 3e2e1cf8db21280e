/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Keeps a sorted array of disjoint mappings for each process. A new mapping replaces what was at
 * its place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/uthash.h"
#include "base/array.h"
#include "decode/maps.h"
#include "elf/encoding_table.h"
#include "record/live_spaces.h"

struct process {
	uint32_t pid;
	struct decode_module *list;
	size_t n;
	struct decode_maps maps; /* of the list */
	uint64_t layout;
	uint32_t epoch;
	UT_hash_handle hh;
};

struct live_spaces {
	const struct record_modules *modules;
	struct process *processes, *last;
	uint64_t layouts; /* numbers in use */
	uint32_t epochs;  /* the same */
};

struct live_spaces *live_spaces_new(const struct record_modules *m)
{
	struct live_spaces *s = calloc(1, sizeof(*s));

	if (s)
		s->modules = m;
	return s;
}

void live_spaces_free(struct live_spaces *s)
{
	struct process *p, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->processes, p, next) {
		HASH_DEL(s->processes, p);
		free(p->list);
		free(p);
	}
	free(s);
}

static void note_change(struct live_spaces *s, struct process *p)
{
	decode_maps_set(&p->maps, p->list, p->n);
	p->layout = ++s->layouts;
}

static struct process *process_of(struct live_spaces *s, uint32_t pid)
{
	struct process *p = s->last;

	if (p && p->pid == pid)
		return p;
	HASH_FIND(hh, s->processes, &pid, sizeof(pid), p);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->pid = pid;
		HASH_ADD(hh, s->processes, pid, sizeof(p->pid), p);
		if (!hash_added(p)) {
			free(p);
			return NULL;
		}
		note_change(s, p);
	}
	s->last = p;
	return p;
}

int live_spaces_process(struct live_spaces *s, const struct pcce_rec_process *rec)
{
	struct process *p = process_of(s, rec->pid), *parent = NULL;
	struct decode_module *list = NULL;
	size_t n = 0;

	if (!p)
		return -ENOMEM;
	/* That a process was found does not change the mappings already known. */
	if (!(rec->flags & (PCCE_PROCESS_EXEC | PCCE_PROCESS_FORK)))
		return 0;
	if (!(rec->flags & PCCE_PROCESS_EXEC))
		HASH_FIND(hh, s->processes, &rec->ppid, sizeof(rec->ppid), parent);
	for (; parent && n < parent->n; n++) {
		if (array_grow(&list, n, sizeof(*list))) {
			free(list);
			return -ENOMEM;
		}
		list[n] = parent->list[n];
	}
	free(p->list);
	p->epoch = ++s->epochs;
	p->list = list;
	p->n = n;
	note_change(s, p);
	return 0;
}

static int place_map(struct process *p, const struct decode_module *m)
{
	size_t at = 0;

	if (array_grow(&p->list, p->n, sizeof(*p->list)))
		return -ENOMEM;
	while (at < p->n && p->list[at].start < m->start)
		at++;
	memmove(&p->list[at + 1], &p->list[at], (p->n - at) * sizeof(*p->list));
	p->list[at] = *m;
	p->n++;
	return 0;
}

/* Makes room for [start, end). 0 or -ENOMEM. */
static int clear_range(struct process *p, uint64_t start, uint64_t end)
{
	size_t kept = 0;
	struct decode_module rest = {0};

	for (size_t i = 0; i < p->n; i++) {
		struct decode_module *m = &p->list[i];

		if (m->start < end && m->end > end) {
			rest = *m;
			rest.vaddr += end - m->start;
			rest.start = end;
		}
		if (m->start < end && m->end > start)
			m->end = m->start < start ? start : m->start;
		if (m->start < m->end)
			p->list[kept++] = *m;
	}
	p->n = kept;
	return rest.end ? place_map(p, &rest) : 0;
}

/* Whether the mapping changes what addresses mean. The same one again does not. */
static bool changes_meanings(const struct process *p, const struct pcce_rec_map *rec)
{
	uint64_t end = rec->start + rec->length;

	for (size_t i = 0; i < p->n; i++) {
		const struct decode_module *m = &p->list[i];

		if (m->start < end && m->end > rec->start &&
		    (m->module != rec->module || m->vaddr - m->start != rec->vaddr - rec->start))
			return true;
	}
	return false;
}

int live_spaces_map(struct live_spaces *s, const struct pcce_rec_map *rec)
{
	struct process *p = process_of(s, rec->pid);
	struct decode_module m = {
		.start = rec->start,
		.end = rec->start + rec->length,
		.vaddr = rec->vaddr,
		.module = rec->module,
	};
	int r;

	if (!p)
		return -ENOMEM;
	if (m.end <= m.start)
		return 0;
	if (changes_meanings(p, rec))
		p->epoch = ++s->epochs;
	r = clear_range(p, m.start, m.end);
	if (!r && rec->module != PCCE_MODULE_NONE) {
		const struct record_module *module = record_modules_get(s->modules, rec->module);

		if (module->instrumented || module->missing) {
			m.table = &module->table;
			/* Only a main executable defines pcce_page itself. */
			m.main_executable = m.table->head->flags & PCCE_TABLE_EXEC;
		}
		r = place_map(p, &m);
	}
	note_change(s, p);
	return r;
}

const struct decode_space *live_spaces_at(struct live_spaces *s, uint32_t pid, uint64_t *layout)
{
	struct process *p = process_of(s, pid);

	if (!p)
		return NULL;
	*layout = p->layout;
	return &p->maps.as;
}

uint32_t live_spaces_epoch(struct live_spaces *s, uint32_t pid)
{
	const struct process *p = process_of(s, pid);

	return p ? p->epoch : ++s->epochs;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replays PROCESS and MAP records once, as events in the order of time. The replay turns each
 * process's mappings into intervals:
 *
 *     mapping [start, end) of a module, in force during [from, until)
 *
 * A process's life consists of generations: a fork begins one with copies of the parent's mappings,
 * an exec begins one without mappings. Layouts ("spaces") are built on demand. Each is valid until
 * the process's next change.
 *
 * A MAP record can have a later time than the first samples in that memory: a sampler that reads
 * /proc finds a library after it was mapped. Code that ran was mapped. So an interval begins when
 * the previous mapping at its place ended, or when the generation began.
 *
 * While recording, each event is replayed when it comes, and what is over is forgotten: a process
 * has one generation, and all its intervals go on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/sorted.h"
#include "base/uthash.h"
#include "stream/address_space.h"
#include "decode/maps.h"
#include "elf/encoding_table.h"

struct interval {
	struct decode_module map;
	uint64_t from, until;
	uint32_t sequence; /* later events win */
};

struct generation {
	uint64_t from;
	struct interval *intervals;
	size_t n, capacity;
	uint64_t *changes; /* times at which the layout changes, sorted; spaces[i] serves
			      [changes[i], changes[i + 1]) */
	uint32_t *spaces;  /* UINT32_MAX: not built yet */
	size_t n_changes;
};

struct process {
	uint32_t pid;
	struct generation *generations;
	size_t n, capacity;
	/* Present spaces only: */
	uint64_t layout, built, numbered; /* its number; that of maps, and of space */
	uint32_t space;
	struct decode_maps maps;
	bool ended;
	UT_hash_handle hh;
};

struct event {
	uint64_t time;
	uint32_t sequence;
	uint32_t pid, ppid;
	uint32_t flags;
	bool is_map;
	struct decode_module map;
};

/* A layout that some process had at some time. */
struct space {
	struct decode_maps maps;
	uint32_t number;
	UT_hash_handle hh; /* by the list of mappings */
};

struct address_spaces {
	const struct encoding_table *(*table_of)(void *ctx, uint32_t module);
	void *ctx;
	struct event *events;
	size_t n_events, events_capacity;
	struct process *processes;
	struct space *by_maps;
	struct space **spaces; /* by number */
	size_t n_spaces, spaces_capacity;
	struct process *last; /* which was found last */
	bool present;
	uint64_t layouts; /* numbers in use */
};

struct address_spaces *address_spaces_new(const struct encoding_table *(*table_of)(void *ctx,
										   uint32_t module),
					  void *ctx, bool present)
{
	struct address_spaces *s = calloc(1, sizeof(*s));

	if (s) {
		s->table_of = table_of;
		s->ctx = ctx;
		s->present = present;
	}
	return s;
}

static void free_generation(struct generation *g)
{
	free(g->intervals);
	free(g->changes);
	free(g->spaces);
}

static void free_process(struct address_spaces *s, struct process *p)
{
	HASH_DEL(s->processes, p);
	for (size_t i = 0; i < p->n; i++)
		free_generation(&p->generations[i]);
	free(p->generations);
	free(p->maps.list);
	free(p);
}

void address_spaces_free(struct address_spaces *s)
{
	struct process *p, *next;

	if (!s)
		return;
	address_spaces_forget(s);
	HASH_ITER (hh, s->processes, p, next)
		free_process(s, p);
	free(s->spaces);
	free(s->events);
	free(s);
}

/* ---- replay ---------------------------------------------------------------------- */

/* NULL: nothing is known of it. */
static struct process *find_process(struct address_spaces *s, uint32_t pid)
{
	struct process *p = s->last;

	if (p && p->pid == pid)
		return p;
	HASH_FIND(hh, s->processes, &pid, sizeof(pid), p);
	if (p)
		s->last = p;
	return p;
}

/* Adds it if it is not known. NULL: no memory. */
static struct process *process_of(struct address_spaces *s, uint32_t pid)
{
	struct process *p = find_process(s, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->layout = ++s->layouts;
	if (!hash_add(s->processes, pid, p))
		return NULL;
	return p;
}

static struct generation *begin_generation(struct process *p, uint64_t time)
{
	if (array_grow_from(&p->generations, p->n, &p->capacity, 2, sizeof(*p->generations)))
		return NULL;
	p->generations[p->n] = (struct generation){.from = time};
	return &p->generations[p->n++];
}

static struct generation *current_generation(struct process *p)
{
	/* Mappings without an earlier event exist since the beginning. */
	return p->n ? &p->generations[p->n - 1] : begin_generation(p, 0);
}

static int add_interval(struct generation *g, const struct decode_module *map, uint64_t from,
			uint32_t sequence)
{
	if (array_grow_from(&g->intervals, g->n, &g->capacity, 4, sizeof(*g->intervals)))
		return -ENOMEM;
	g->intervals[g->n++] = (struct interval){
		.map = *map, .from = from, .until = UINT64_MAX, .sequence = sequence};
	return 0;
}

static struct decode_module part_of(const struct decode_module *map, uint64_t start, uint64_t end)
{
	struct decode_module part = *map;

	part.vaddr += start - map->start;
	part.start = start;
	part.end = end;
	return part;
}

static void forget_ended(struct generation *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->intervals[i].until == UINT64_MAX)
			g->intervals[n++] = g->intervals[i];
	g->n = n;
}

static int replay_map(struct address_spaces *s, struct process *p, const struct event *e)
{
	struct generation *g = current_generation(p);
	uint64_t from = g ? g->from : 0;
	size_t n = g ? g->n : 0;

	if (!g)
		return -ENOMEM;
	p->layout = ++s->layouts;

	for (size_t i = 0; i < n; i++) {
		struct decode_module old = g->intervals[i].map, part;

		if (old.end <= e->map.start || old.start >= e->map.end)
			continue;
		if (g->intervals[i].until != UINT64_MAX) {
			if (g->intervals[i].until > from)
				from = g->intervals[i].until;
			continue;
		}
		if (!memcmp(&old, &e->map, sizeof(old)))
			return 0;
		g->intervals[i].until = e->time;
		from = e->time;
		if (old.start < e->map.start) {
			part = part_of(&old, old.start, e->map.start);
			if (add_interval(g, &part, e->time, e->sequence))
				return -ENOMEM;
		}
		if (old.end > e->map.end) {
			part = part_of(&old, e->map.end, old.end);
			if (add_interval(g, &part, e->time, e->sequence))
				return -ENOMEM;
		}
	}
	if (s->present)
		forget_ended(g);
	return e->map.module == PCCE_MODULE_NONE ? 0 : add_interval(g, &e->map, from, e->sequence);
}

static void forget_generations(struct process *p)
{
	for (size_t i = 0; i + 1 < p->n; i++)
		free_generation(&p->generations[i]);
	p->generations[0] = p->generations[p->n - 1];
	p->n = 1;
}

static int replay_process(struct address_spaces *s, struct process *p, const struct event *e)
{
	const struct process *parent =
		e->flags & PCCE_PROCESS_FORK ? find_process(s, e->ppid) : NULL;
	size_t from = parent ? parent->n : 0;
	struct generation *g;
	const struct generation *pg;

	/* That a process was found does not change the mappings already known. */
	if (p->n && !(e->flags & (PCCE_PROCESS_FORK | PCCE_PROCESS_EXEC)))
		return 0;
	g = begin_generation(p, p->n ? e->time : 0);
	if (!g)
		return -ENOMEM;
	p->layout = ++s->layouts;
	if (from && !(e->flags & PCCE_PROCESS_EXEC)) {
		pg = &parent->generations[parent == p ? from - 1 : parent->n - 1];
		for (size_t i = 0; i < pg->n; i++)
			if (pg->intervals[i].until == UINT64_MAX &&
			    add_interval(g, &pg->intervals[i].map, g->from, e->sequence))
				return -ENOMEM;
	}
	if (s->present)
		forget_generations(p);
	return 0;
}

static int replay_event(struct address_spaces *s, const struct event *e)
{
	struct process *p = process_of(s, e->pid);

	if (!p)
		return -ENOMEM;
	p->ended = false;
	return e->is_map ? replay_map(s, p, e) : replay_process(s, p, e);
}

static int add_space_event(struct address_spaces *s, const struct event *e)
{
	if (s->present)
		return replay_event(s, e);
	if (array_grow_from(&s->events, s->n_events, &s->events_capacity, 16, sizeof(*s->events)))
		return -ENOMEM;
	s->events[s->n_events] = *e;
	s->events[s->n_events].sequence = s->n_events;
	s->n_events++;
	return 0;
}

int address_spaces_add_process(struct address_spaces *s, const struct pcce_rec_process *rec)
{
	struct event e = {
		.time = rec->time, .pid = rec->pid, .ppid = rec->ppid, .flags = rec->flags};

	return add_space_event(s, &e);
}

int address_spaces_add_map(struct address_spaces *s, const struct pcce_rec_map *rec)
{
	struct event e = {
		.time = rec->time,
		.pid = rec->pid,
		.is_map = true,
		.map = {.start = rec->start, .vaddr = rec->vaddr, .module = rec->module},
	};

	if (!rec->length || __builtin_add_overflow(rec->start, rec->length, &e.map.end))
		return 0;
	return add_space_event(s, &e);
}

static int list_changes(struct generation *g)
{
	size_t n = 0, out = 0;

	g->changes = malloc((2 * g->n + 1) * sizeof(*g->changes));
	if (!g->changes)
		return -ENOMEM;
	g->changes[n++] = g->from;
	for (size_t i = 0; i < g->n; i++) {
		g->changes[n++] = g->intervals[i].from;
		if (g->intervals[i].until != UINT64_MAX)
			g->changes[n++] = g->intervals[i].until;
	}
	qsort(g->changes, n, sizeof(*g->changes), compare_u64);
	for (size_t i = 1; i < n; i++)
		if (g->changes[i] != g->changes[out])
			g->changes[++out] = g->changes[i];
	g->n_changes = out + 1;
	g->spaces = malloc(g->n_changes * sizeof(*g->spaces));
	if (!g->spaces)
		return -ENOMEM;
	memset(g->spaces, 0xff, g->n_changes * sizeof(*g->spaces));
	return 0;
}

COMPARE_BY2(compare_event_times, struct event, time, sequence);

int address_spaces_finish(struct address_spaces *s)
{
	if (s->n_events)
		qsort(s->events, s->n_events, sizeof(*s->events), compare_event_times);
	for (size_t i = 0; i < s->n_events; i++)
		if (replay_event(s, &s->events[i]))
			return -ENOMEM;
	for (struct process *p = s->processes; p; p = p->hh.next)
		for (size_t i = 0; i < p->n; i++)
			if (list_changes(&p->generations[i]))
				return -ENOMEM;
	return 0;
}

/* ---- lookup ---------------------------------------------------------------------- */

COMPARE_BY1(compare_starts_of_maps, struct decode_module, start);

/* Takes ownership of maps, also if it fails. */
static uint32_t intern_space(struct address_spaces *s, struct decode_module *maps, size_t n)
{
	const void *key = n ? (const void *)maps : "";
	size_t size = n * sizeof(*maps);
	struct space *space;

	HASH_FIND(hh, s->by_maps, key, size, space);
	if (space) {
		free(maps);
		return space->number;
	}
	space = calloc(1, sizeof(*space));
	if (!space ||
	    array_grow_from(&s->spaces, s->n_spaces, &s->spaces_capacity, 16, sizeof(*s->spaces)))
		goto no_memory;
	decode_maps_set(&space->maps, maps, n);
	space->number = (uint32_t)s->n_spaces;
	HASH_ADD_KEYPTR(hh, s->by_maps, key, size, space);
	if (!hash_added(space))
		goto no_memory;
	s->spaces[s->n_spaces++] = space;
	return space->number;
no_memory:
	free(space);
	free(maps);
	return UINT32_MAX;
}

/* Lists the mappings at a time. NULL: no memory. */
static struct decode_module *list_maps(const struct address_spaces *s, const struct generation *g,
				       uint64_t time, size_t *n_maps)
{
	struct decode_module *maps = calloc(g->n + 1, sizeof(*maps));
	size_t n = 0;

	if (!maps)
		return NULL;
	for (size_t i = 0; i < g->n; i++) {
		const struct interval *v = &g->intervals[i];

		if (!s->present && (v->from > time || v->until <= time))
			continue;
		maps[n] = v->map;
		maps[n].table = s->table_of(s->ctx, v->map.module);
		/* Only a main executable defines pcce_page itself. */
		maps[n].main_executable =
			maps[n].table && maps[n].table->head->flags & PCCE_TABLE_EXEC;
		n++;
	}
	qsort(maps, n, sizeof(*maps), compare_starts_of_maps);
	*n_maps = n;
	return maps;
}

static uint32_t build_space(struct address_spaces *s, const struct generation *g, uint64_t time)
{
	size_t n;
	struct decode_module *maps = list_maps(s, g, time, &n);

	return maps ? intern_space(s, maps, n) : UINT32_MAX;
}

/* Finds the last of n elements that begin with a time up to this one; else the first. */
static size_t last_until(const void *first, size_t n, size_t size, uint64_t time)
{
	size_t begun =
		SORTED_COUNT(i, n, *(const uint64_t *)((const char *)first + i * size) <= time);

	return begun ? begun - 1 : 0;
}

uint32_t address_spaces_at(struct address_spaces *s, uint32_t pid, uint64_t time)
{
	struct process *p = find_process(s, pid);
	struct generation *g;
	size_t i;

	if (!p || !p->n)
		return intern_space(s, NULL, 0);
	g = &p->generations[last_until(p->generations, p->n, sizeof(*g), time)];
	i = last_until(g->changes, g->n_changes, sizeof(*g->changes), time);
	if (g->spaces[i] == UINT32_MAX)
		g->spaces[i] = build_space(s, g, g->changes[i]);
	return g->spaces[i];
}

const struct decode_space *address_spaces_get(const struct address_spaces *s, uint32_t space)
{
	return &s->spaces[space]->maps.as;
}

/* ---- the present ----------------------------------------------------------------- */

const struct decode_space *address_spaces_now(struct address_spaces *s, uint32_t pid,
					      uint64_t *layout)
{
	static const struct generation nothing;
	struct process *p = process_of(s, pid);
	struct decode_module *maps;
	size_t n;

	if (!p)
		return NULL;
	*layout = p->layout;
	if (p->built == p->layout)
		return &p->maps.as;
	maps = list_maps(s, p->n ? &p->generations[0] : &nothing, 0, &n);
	if (!maps)
		return NULL;
	free(p->maps.list);
	decode_maps_set(&p->maps, maps, n);
	p->built = p->layout;
	return &p->maps.as;
}

uint32_t address_spaces_number(struct address_spaces *s, uint32_t pid)
{
	static const struct generation nothing;
	struct process *p = process_of(s, pid);

	if (!p)
		return UINT32_MAX;
	if (p->numbered == p->layout)
		return p->space;
	p->space = build_space(s, p->n ? &p->generations[0] : &nothing, 0);
	if (p->space != UINT32_MAX)
		p->numbered = p->layout;
	return p->space;
}

void address_spaces_forget(struct address_spaces *s)
{
	HASH_CLEAR(hh, s->by_maps);
	for (size_t i = 0; i < s->n_spaces; i++) {
		free(s->spaces[i]->maps.list);
		free(s->spaces[i]);
	}
	s->n_spaces = 0;
	for (struct process *p = s->processes; p; p = p->hh.next)
		p->numbered = 0;
}

const struct decode_module *address_spaces_mappings(struct address_spaces *s, uint32_t pid,
						    size_t *n)
{
	struct process *p = process_of(s, pid);
	uint64_t layout;

	if (!p || !address_spaces_now(s, pid, &layout))
		return NULL;
	*n = p->maps.n;
	return p->maps.list;
}

void address_spaces_end(struct address_spaces *s, uint32_t pid)
{
	struct process *p = find_process(s, pid);

	if (p)
		p->ended = true;
}

void address_spaces_sweep(struct address_spaces *s)
{
	struct process *p, *next;

	s->last = NULL;
	HASH_ITER (hh, s->processes, p, next)
		if (p->ended)
			free_process(s, p);
}

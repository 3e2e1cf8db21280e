/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See stack_store.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "base/uthash.h"
#include "stream/stack_store.h"

struct content {
	const struct stack_node *below;
	uint64_t depth; /* segments that are known below it */
	struct pcce_entry entry[PCCE_SEGMENT_ENTRIES];
};

struct stack_node {
	UT_hash_handle hh;
	uint64_t hash;
	bool kept; /* between stack_store_keep() and stack_store_sweep() */
	struct content content;
};

/* What a thread's stack was made of when it was last seen. */
struct level {
	uint64_t generation; /* or the name */
	struct pcce_entry base;
	const struct stack_node *node;
	uint64_t
		carried; /* the window in which stack_store_complete() has carried it; 0: in none */
};

struct thread {
	UT_hash_handle hh;
	uint64_t key; /* pid and tid */
	struct level *levels;
	size_t n;
	bool ended;
};

/* PCCE_SAMPLE_BY_CONTENT: the segments that a recording's names identify. */
struct named {
	UT_hash_handle hh;
	uint64_t name;
	struct level level;
};

struct stack_store {
	uint64_t window; /* its number, from 1 */
	struct stack_node *nodes;
	struct thread *threads;
	struct named *names;
	struct pcce_sample *complete; /* the last one that needed other segments */
	size_t complete_size;
};

struct stack_store *stack_store_new(void)
{
	struct stack_store *all = calloc(1, sizeof(*all));

	if (all)
		all->window = 1;
	return all;
}

void stack_store_free(struct stack_store *all)
{
	struct thread *t, *next;

	if (!all)
		return;
	HASH_ITER (hh, all->threads, t, next) {
		HASH_DEL(all->threads, t);
		free(t->levels);
		free(t);
	}
	hash_free(all->names, free);
	hash_free(all->nodes, free);
	free(all->complete);
	free(all);
}

uint64_t stack_store_depth(const struct stack_node *below)
{
	return below->content.depth + 1;
}

uint64_t stack_store_hash(const struct stack_node *below)
{
	return below ? below->hash : 0;
}

const struct stack_node *stack_store_intern(struct stack_store *all, const struct stack_node *below,
					    const struct pcce_entry *entries)
{
	struct stack_node *node, *found = NULL, *added;
	uint64_t h = stack_store_hash(below);

	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->content.below = below;
	node->content.depth = below ? below->content.depth + 1 : 0;
	memcpy(node->content.entry, entries, sizeof(node->content.entry));
	HASH_FIND(hh, all->nodes, &node->content, sizeof(node->content), found);
	if (found) {
		free(node);
		return found;
	}
	for (unsigned int i = 0; i < PCCE_SEGMENT_ENTRIES; i++) {
		h = (h ^ entries[i].id) * 0x9e3779b97f4a7c15ULL;
		h = (h ^ h >> 29 ^ entries[i].site) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	node->hash = h | 1;
	added = node;
	HASH_ADD(hh, all->nodes, content, sizeof(node->content), added);
	if (!added || !hash_added(node)) {
		free(node);
		return NULL;
	}
	return node;
}

const struct stack_node *stack_store_below(const struct stack_node *node)
{
	return node->content.below;
}

const struct pcce_entry *stack_store_entries(const struct stack_node *node)
{
	return node->content.entry;
}

static struct thread *thread_of(struct stack_store *all, const struct pcce_sample *s)
{
	uint64_t key = (uint64_t)s->pid << 32 | s->tid;
	struct thread *t;

	HASH_FIND(hh, all->threads, &key, sizeof(key), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key;
	if (!hash_add(all->threads, key, t))
		return NULL;
	return t;
}

/* The node of a segment whose generation is known; NULL if it is another one's, or none's. */
static const struct stack_node *lookup(const struct thread *t, uint64_t index, uint64_t generation)
{
	if (!generation || index >= t->n || t->levels[index].generation != generation)
		return NULL;
	return t->levels[index].node;
}

static struct level *level_of_name(const struct stack_store *all, uint64_t name)
{
	struct named *found = NULL;

	if (name)
		HASH_FIND(hh, all->names, &name, sizeof(name), found);
	return found ? &found->level : NULL;
}

static const struct stack_node *lookup_name(const struct stack_store *all, uint64_t name)
{
	const struct level *level = level_of_name(all, name);

	return level ? level->node : NULL;
}

static int take_named(struct stack_store *all, const struct pcce_segment *segment)
{
	struct named *entry;
	const struct stack_node *node;

	if (!segment->generation || lookup_name(all, segment->generation))
		return 0;
	node = stack_store_intern(all, segment->index ? lookup_name(all, segment->base.id) : NULL,
				  segment->entry);
	entry = node ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return -ENOMEM;
	entry->name = segment->generation;
	entry->level = (struct level){segment->generation, segment->base, node, 0};
	if (!hash_add(all->names, name, entry))
		return -ENOMEM;
	return 0;
}

int stack_store_take(struct stack_store *all, const struct pcce_sample *s,
		     const struct stack_node **below)
{
	const struct pcce_segment *segment = pcce_sample_segments(s),
				  *end = segment + s->n_segments;
	struct thread *t;

	*below = NULL;
	if (!s->n_below || s->n_below > PCCE_AREA_SEGMENTS)
		return 0;
	if (s->flags & PCCE_SAMPLE_BY_CONTENT) {
		for (; segment < end; segment++)
			if (take_named(all, segment))
				return -ENOMEM;
		*below = lookup_name(all, s->below);
		return 0;
	}
	t = thread_of(all, s);
	if (!t)
		return -ENOMEM;
	t->ended = false;
	for (; segment < end; segment++) {
		const struct stack_node *node;

		/* From a page that the program has written to: a place that there cannot be. */
		if (segment->index >= PCCE_AREA_SEGMENTS || !segment->generation)
			continue;
		if (array_reach(&t->levels, &t->n, segment->index, 8, sizeof(*t->levels)))
			return -ENOMEM;
		node = segment->index ? lookup(t, segment->index - 1, segment->base.id) : NULL;
		node = stack_store_intern(all, node, segment->entry);
		if (!node)
			return -ENOMEM;
		t->levels[segment->index] =
			(struct level){segment->generation, segment->base, node, 0};
	}
	*below = lookup(t, s->n_below - 1, s->below);
	return 0;
}

/* ---- samples that are left out --------------------------------------------------- */

/* The segment at an index, if it has this generation and no sample of the window has carried it.
 * t: NULL if names identify segments. */
static struct level *late_level(const struct stack_store *all, const struct thread *t,
				uint32_t index, uint64_t generation)
{
	struct level *level = !t	     ? level_of_name(all, generation)
			      : index < t->n ? &t->levels[index]
					     : NULL;

	return level && generation && level->generation == generation &&
			       level->carried != all->window
		       ? level
		       : NULL;
}

/* How many segments below the sample no sample of the window has carried. What is below a segment
 * never changes, so they are the newest ones. */
static uint32_t count_late(const struct stack_store *all, const struct thread *t,
			   const struct pcce_sample *s)
{
	uint64_t generation = s->below;
	uint32_t n = 0;

	while (n < s->n_below) {
		const struct level *level = late_level(all, t, s->n_below - n - 1, generation);

		if (!level)
			break;
		generation = level->base.id;
		n++;
	}
	return n;
}

static void carry(struct level *level, uint64_t index, uint64_t window, struct pcce_segment *to)
{
	*to = (struct pcce_segment){
		.generation = level->generation, .index = index, .base = level->base};
	memcpy(to->entry, level->node->content.entry, sizeof(to->entry));
	level->carried = window;
}

int stack_store_complete(struct stack_store *all, const struct pcce_sample *s,
			 const struct pcce_sample **out)
{
	size_t entries = sizeof(*s) + s->n_entries * sizeof(struct pcce_entry), size;
	bool named = s->flags & PCCE_SAMPLE_BY_CONTENT;
	struct thread *t = s->n_below && !named ? thread_of(all, s) : NULL;
	uint64_t generation = s->below;
	struct pcce_segment *to;
	struct level *level;
	uint32_t n;

	*out = s;
	if (!s->n_below || s->n_below > PCCE_AREA_SEGMENTS)
		return 0;
	if (!t && !named)
		return -ENOMEM;
	n = count_late(all, t, s);
	if (!n && !s->n_segments)
		return 0;
	size = entries + n * sizeof(*to) + s->n_stack * sizeof(uint64_t);
	if (array_reserve(&all->complete, &all->complete_size, size, 1))
		return -ENOMEM;
	memcpy(all->complete, s, entries);
	all->complete->n_segments = n;
	to = (struct pcce_segment *)((char *)all->complete + entries);
	for (uint32_t i = 1; i <= n; i++) {
		level = late_level(all, t, s->n_below - i, generation);
		generation = level->base.id;
		carry(level, s->n_below - i, all->window, &to[n - i]);
	}
	if (s->n_stack)
		memcpy(to + n, pcce_sample_stack(s), s->n_stack * sizeof(uint64_t));
	*out = all->complete;
	return 0;
}

void stack_store_end_thread(struct stack_store *all, uint32_t pid, uint32_t tid)
{
	uint64_t key = (uint64_t)pid << 32 | tid;
	struct thread *t;

	HASH_FIND(hh, all->threads, &key, sizeof(key), t);
	if (t)
		t->ended = true;
}

void stack_store_begin_window(struct stack_store *all)
{
	struct thread *t, *next;

	all->window++;
	HASH_ITER (hh, all->threads, t, next) {
		if (!t->ended)
			continue;
		HASH_DEL(all->threads, t);
		free(t->levels);
		free(t);
	}
}

/* ---- flat stacks ----------------------------------------------------------------- */

int stack_store_flatten(const struct stack_node *below, const struct pcce_sample *s,
			struct stack_store_flat *out)
{
	return stack_store_flatten_newest(below, UINT64_MAX, s, out, &below);
}

int stack_store_flatten_newest(const struct stack_node *below, uint64_t segments,
			       const struct pcce_sample *s, struct stack_store_flat *out,
			       const struct stack_node **rest)
{
	uint64_t known = below ? below->content.depth + 1 : 0,
		 n = (known < segments ? known : segments) * PCCE_SEGMENT_ENTRIES,
		 total = n + s->n_entries;

	if (array_reserve(&out->entries, &out->capacity, total, sizeof(*out->entries)))
		return -ENOMEM;
	if (s->n_entries)
		memcpy(out->entries + n, pcce_sample_entries(s),
		       s->n_entries * sizeof(*out->entries));
	for (; n; below = below->content.below) {
		n -= PCCE_SEGMENT_ENTRIES;
		memcpy(out->entries + n, below->content.entry, sizeof(below->content.entry));
	}
	*rest = below;
	out->n = (uint32_t)total;
	return 0;
}

/* ---- sweeping -------------------------------------------------------------------- */

void stack_store_keep(const struct stack_node *below)
{
	/* Constant for users only. */
	for (; below && !below->kept; below = below->content.below)
		((struct stack_node *)(uintptr_t)below)->kept = true;
}

void stack_store_sweep(struct stack_store *all)
{
	struct stack_node *node, *next_node;
	struct thread *t, *next;
	struct named *name, *next_name;

	HASH_ITER (hh, all->threads, t, next)
		for (uint32_t i = 0; i < t->n; i++)
			stack_store_keep(t->levels[i].node);
	HASH_ITER (hh, all->names, name, next_name)
		stack_store_keep(name->level.node);
	HASH_ITER (hh, all->nodes, node, next_node) {
		if (!node->kept) {
			HASH_DEL(all->nodes, node);
			free(node);
			continue;
		}
		node->kept = false;
	}
}

size_t stack_store_count(const struct stack_store *all)
{
	return HASH_COUNT(all->nodes);
}

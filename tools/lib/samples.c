/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Raw samples lie in large blocks, one behind the other; a hash table of pointers
 * finds equal ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/sample.h"
#include "tools/lib/samples.h"

#define BLOCK_BYTES (1u << 20)

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

static uint64_t hash_bytes(const void *data, size_t size)
{
	uint64_t h = size * 0x9e3779b97f4a7c15ULL, w;

	for (size_t i = 0; i < size; i += 8) {
		memcpy(&w, (const char *)data + i, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return h;
}

static void *allocate(struct samples *all, size_t size)
{
	struct block *b = all->blocks;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!b || b->size - b->used < size) {
		size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		b = malloc(sizeof(*b) + bytes);
		if (!b)
			return NULL;
		b->next = all->blocks;
		b->used = 0;
		b->size = bytes;
		all->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += size;
	return p;
}

static int rehash(struct samples *all)
{
	size_t want = all->n_slots ? all->n_slots * 2 : 4096;
	struct raw_sample **slots = calloc(want, sizeof(struct raw_sample *));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < all->n_slots; i++) {
		size_t at;

		if (!all->slots[i])
			continue;
		at = all->slots[i]->hash & (want - 1);
		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = all->slots[i];
	}
	free(all->slots);
	all->slots = slots;
	all->n_slots = want;
	return 0;
}

/* key: what follows it is at entries (key->n_entries) and at stack (key->n_stack). */
static struct raw_sample *intern(struct samples *all, const struct pcce_sample *key, const struct segment_node *below,
				 const struct pcce_entry *entries, const uint64_t *stack)
{
	size_t entries_size = key->n_entries * sizeof(*entries), stack_size = key->n_stack * sizeof(*stack);
	size_t size = sizeof(*key) + entries_size + stack_size, at;
	uint64_t hash = hash_bytes(key, sizeof(*key)) * 31 + hash_bytes(entries, entries_size);
	struct raw_sample *r;

	hash = hash * 31 + hash_bytes(stack, stack_size) + segments_hash(below);
	hash ^= hash >> 29;
	if (all->n_raw * 2 >= all->n_slots && rehash(all))
		return NULL;
	for (at = hash & (all->n_slots - 1); all->slots[at]; at = (at + 1) & (all->n_slots - 1)) {
		r = all->slots[at];
		if (r->hash == hash && r->size == size && r->below == below && !memcmp(&r->sample, key, sizeof(*key)) &&
		    !memcmp(sample_entries(&r->sample), entries, entries_size) &&
		    !memcmp(sample_stack(&r->sample), stack, stack_size))
			return r;
	}
	r = allocate(all, sizeof(*r) + entries_size + stack_size);
	if (!r)
		return NULL;
	*r = (struct raw_sample){.hash = hash, .size = size, .below = below, .sample = *key};
	memcpy(r + 1, entries, entries_size);
	memcpy((char *)(r + 1) + entries_size, stack, stack_size);
	all->slots[at] = r;
	all->n_raw++;
	return r;
}

int samples_add(struct samples *all, const struct pcce_sample *s, uint32_t stream)
{
	struct pcce_sample key = *s;
	const struct segment_node *below;
	struct sample *more;

	if (!all->segments)
		all->segments = segments_new();
	if (!all->segments || segments_take(all->segments, s, &below))
		return -ENOMEM;
	if (all->n == all->capacity) {
		size_t want = all->capacity ? all->capacity * 2 : 4096;

		more = reallocarray(all->list, want, sizeof(*more));
		if (!more)
			return -ENOMEM;
		all->list = more;
		all->capacity = want;
	}
	key.time = 0;
	key.pid = key.tid = key.weight = key.event = key.cpu = 0;
	key.sp = key.r11 = key.below = 0;
	key.n_segments = 0;
	key.flags &= ~PCCE_SAMPLE_TRUNCATED;
	all->list[all->n] = (struct sample){
		.raw = intern(all, &key, below, sample_entries(s), sample_stack(s)),
		.time = s->time,
		.r11 = s->r11,
		.stream = stream,
		.weight = s->weight ? s->weight : 1,
	};
	if (!all->list[all->n].raw)
		return -ENOMEM;
	all->n++;
	return 0;
}

void samples_free(struct samples *all)
{
	while (all->blocks) {
		struct block *b = all->blocks;

		all->blocks = b->next;
		free(b);
	}
	free(all->list);
	free(all->slots);
	segments_free(all->segments);
	*all = (struct samples){0};
}

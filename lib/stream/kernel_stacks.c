/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See kernel_stacks.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "stream/kernel_stacks.h"

#define STACKS_MAX (1u << 18) /* usual ones are a few thousand, of 100 bytes */

HASH_TABLE_TYPE(kernel_table, uint32_t);

struct kernel_stacks {
	struct kernel_stack **list;
	size_t n;
	struct kernel_table by_frames; /* index + 1 */
};

struct frames_key {
	const uint64_t *frames;
	uint32_t n;
};

static uint64_t hash_frames(const uint64_t *frames, uint32_t n)
{
	return XXH3_64bits(frames, n * sizeof(*frames));
}

static bool has_frames(const struct kernel_stack *s, const struct frames_key *key)
{
	return s->n == key->n && !memcmp(s->frames, key->frames, key->n * sizeof(*key->frames));
}

HASH_TABLE_FUNCTIONS(kernel_table, uint32_t, struct frames_key, struct kernel_stacks, *s,
		     hash_frames(o->list[*s - 1]->frames, o->list[*s - 1]->n),
		     has_frames(o->list[*s - 1], key));

struct kernel_stacks *kernel_stacks_new(void)
{
	return calloc(1, sizeof(struct kernel_stacks));
}

void kernel_stacks_free(struct kernel_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->list[i]);
	free(s->list);
	kernel_table_free(&s->by_frames);
	free(s);
}

int kernel_stacks_add(struct kernel_stacks *s, const uint64_t *frames, uint32_t n)
{
	struct kernel_stack *new = malloc(sizeof(*new) + n * sizeof(*frames));

	if (!new || array_grow(&s->list, s->n, sizeof(struct kernel_stack *))) {
		free(new);
		return -ENOMEM;
	}
	*new = (struct kernel_stack){.number = (uint32_t)s->n, .n = n};
	memcpy(new->frames, frames, n * sizeof(*frames));
	s->list[s->n++] = new;
	return 0;
}

const struct kernel_stack *kernel_stacks_find(struct kernel_stacks *s, const uint64_t *frames,
					      uint32_t n)
{
	const struct frames_key key = {frames, n};
	uint32_t *slot = kernel_table_slot(&s->by_frames, s, hash_frames(frames, n), &key);

	if (!slot)
		return NULL;
	if (*slot)
		return s->list[*slot - 1];
	if (s->n >= STACKS_MAX || kernel_stacks_add(s, frames, n))
		return NULL;
	kernel_table_fill(&s->by_frames, slot, (uint32_t)s->n);
	return s->list[s->n - 1];
}

const struct kernel_stack *kernel_stacks_get(const struct kernel_stacks *s, uint64_t number)
{
	return number < s->n ? s->list[number] : NULL;
}

size_t kernel_stacks_of(const struct stream_event *e, const uint64_t **frames)
{
	if (e->kernel) {
		*frames = e->kernel->frames;
		return e->kernel->n;
	}
	*frames = (const uint64_t *)&e->sample->kip;
	return e->sample->kip && !(e->sample->flags & PCCE_SAMPLE_KERNEL_STACK);
}

int kernel_stacks_write(struct kernel_stacks_written *w, struct datafile_writer *to,
			const struct kernel_stack *stack, struct pcce_sample *s)
{
	struct pcce_rec_kernel_stack rec = {.number = w->n};
	struct iovec frames;
	int r = 0;

	if (!stack)
		return 0;
	if (array_reach(&w->numbers, &w->capacity, stack->number, 256, sizeof(*w->numbers)))
		return -ENOMEM;
	if (!w->numbers[stack->number]) {
		rec.n = stack->n;
		frames.iov_base = (void *)(uintptr_t)stack->frames;
		frames.iov_len = stack->n * sizeof(*stack->frames);
		r = datafile_put(to, PCCE_REC_KERNEL_STACK, &rec, sizeof(rec), &frames, 1);
		if (!r)
			w->numbers[stack->number] = ++w->n;
	}
	s->kip = w->numbers[stack->number] - 1;
	return r;
}

void kernel_stacks_written_free(struct kernel_stacks_written *w)
{
	free(w->numbers);
}

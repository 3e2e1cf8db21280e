/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the reader's tables of blocks. A CPU's table is allocated with its first sample. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/sampler.h"
#include <pcce/sample.h>
#include "sampler/bpf_stacks.h"

struct table {
	uint64_t address[SAMPLER_PLACES];
	struct sampler_block known[SAMPLER_PLACES];
};

struct bpf_stacks {
	int cpus;
	struct pcce_sample *whole; /* with room for the largest sample */
	struct table **tables;	   /* by CPU */
};

struct bpf_stacks *bpf_stacks_new(int cpus)
{
	struct bpf_stacks *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->cpus = cpus;
	b->tables = calloc((size_t)cpus, sizeof(*b->tables));
	b->whole = malloc(sizeof(*b->whole) + PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +
			  PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment) +
			  PCCE_COPY_REGISTERS * sizeof(uint64_t) + SAMPLER_STACK);
	if (b->tables && b->whole)
		return b;
	bpf_stacks_free(b);
	return NULL;
}

void bpf_stacks_free(struct bpf_stacks *b)
{
	if (!b)
		return;
	for (int i = 0; b->tables && i < b->cpus; i++)
		free(b->tables[i]);
	free(b->tables);
	free(b->whole);
	free(b);
}

static bool is_possible(const struct pcce_sample *s, const struct sampler_stack *stack)
{
	unsigned int changed = 0;

	for (uint32_t i = 0; i < SAMPLER_STACK_BLOCKS / 64; i++)
		changed += (unsigned int)__builtin_popcountll(stack->changed[i]);
	return stack->blocks <= SAMPLER_STACK_BLOCKS && stack->group < SAMPLER_GROUPS &&
	       stack->sent == changed &&
	       s->n_stack == PCCE_COPY_REGISTERS +
				     (sizeof(*stack) + changed * SAMPLER_BLOCK) / sizeof(uint64_t);
}

int bpf_stacks_complete(struct bpf_stacks *b, int cpu, const struct pcce_sample *s,
			const struct pcce_sample **out)
{
	const uint64_t *from = pcce_sample_stack(s);
	const struct sampler_stack *stack = (const void *)(from + PCCE_COPY_REGISTERS);
	const struct sampler_block *sent = (const void *)(stack + 1);
	uint64_t first = s->sp / SAMPLER_BLOCK, skip = s->sp % SAMPLER_BLOCK / sizeof(uint64_t);
	struct table *t;
	uint64_t *to;

	if (!s->n_stack) {
		*out = s;
		return 0;
	}
	if (s->n_stack < PCCE_COPY_REGISTERS + sizeof(*stack) / sizeof(uint64_t) ||
	    !is_possible(s, stack))
		return -EBADMSG;
	if (!b->tables[cpu])
		b->tables[cpu] = calloc(1, sizeof(*b->tables[cpu]));
	t = b->tables[cpu];
	if (!t)
		return -ENOMEM;
	memcpy(b->whole, s, (size_t)((const char *)(from + PCCE_COPY_REGISTERS) - (const char *)s));
	to = (uint64_t *)(uintptr_t)pcce_sample_stack(b->whole) + PCCE_COPY_REGISTERS;
	for (uint32_t i = 0; i < stack->blocks; i++) {
		uint32_t place = sampler_block_place(stack->group, first + i);

		if (stack->changed[i / 64] >> i % 64 & 1) {
			t->address[place] = (first + i) * SAMPLER_BLOCK;
			t->known[place] = *sent++;
		} else if (t->address[place] != (first + i) * SAMPLER_BLOCK) {
			return -EBADMSG;
		}
		/* The first block begins below sp. */
		memcpy(to, t->known[place].word + skip, SAMPLER_BLOCK - skip * sizeof(uint64_t));
		to += SAMPLER_BLOCK / sizeof(uint64_t) - skip;
		skip = 0;
	}
	b->whole->n_stack = (uint32_t)(to - pcce_sample_stack(b->whole));
	*out = b->whole;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the reader's tables of blocks. A ring's table is allocated with its first sample. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pcce/sample.h>
#include <pcce/stack_blocks.h>
#include "sampler/stack_blocks.h"

struct table {
	uint64_t address[PCCE_STACK_PLACES];
	struct pcce_stack_block known[PCCE_STACK_PLACES];
};

struct stack_blocks {
	uint32_t rings;
	struct pcce_sample *whole; /* with room for the largest sample */
	struct table **tables;	   /* by ring */
	uint64_t copied;
};

struct stack_blocks *stack_blocks_new(uint32_t rings)
{
	struct stack_blocks *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->rings = rings;
	b->tables = calloc(rings, sizeof(struct table *));
	b->whole = malloc(sizeof(*b->whole) + PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +
			  PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment) +
			  PCCE_COPY_REGISTERS * sizeof(uint64_t) + PCCE_STACK_BYTES);
	if (b->tables && b->whole)
		return b;
	stack_blocks_free(b);
	return NULL;
}

void stack_blocks_free(struct stack_blocks *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; b->tables && i < b->rings; i++)
		free(b->tables[i]);
	free(b->tables);
	free(b->whole);
	free(b);
}

static bool is_possible(const struct pcce_sample *s, const struct pcce_stack_changes *stack)
{
	unsigned int changed = 0;

	for (uint32_t i = 0; i < PCCE_STACK_BLOCKS / 64; i++)
		changed += (unsigned int)__builtin_popcountll(stack->changed[i]);
	return stack->blocks <= PCCE_STACK_BLOCKS && stack->group < PCCE_STACK_GROUPS &&
	       stack->sent == changed &&
	       s->n_stack == PCCE_COPY_REGISTERS + (sizeof(*stack) + changed * PCCE_STACK_BLOCK) /
							   sizeof(uint64_t);
}

int stack_blocks_complete(struct stack_blocks *b, uint32_t ring, const struct pcce_sample *s,
			  const struct pcce_sample **out)
{
	const uint64_t *from = pcce_sample_stack(s);
	const struct pcce_stack_changes *stack = (const void *)(from + PCCE_COPY_REGISTERS);
	const struct pcce_stack_block *sent = (const void *)(stack + 1);
	uint64_t first = s->sp / PCCE_STACK_BLOCK,
		 skip = s->sp % PCCE_STACK_BLOCK / sizeof(uint64_t);
	struct table *t;
	uint64_t *to;

	b->copied += s->n_stack * sizeof(uint64_t);
	if (!s->n_stack) {
		*out = s;
		return 0;
	}
	if (s->n_stack < PCCE_COPY_REGISTERS + sizeof(*stack) / sizeof(uint64_t) ||
	    !is_possible(s, stack))
		return -EBADMSG;
	if (!b->tables[ring])
		b->tables[ring] = calloc(1, sizeof(*b->tables[ring]));
	t = b->tables[ring];
	if (!t)
		return -ENOMEM;
	memcpy(b->whole, s, (size_t)((const char *)(from + PCCE_COPY_REGISTERS) - (const char *)s));
	to = (uint64_t *)(uintptr_t)pcce_sample_stack(b->whole) + PCCE_COPY_REGISTERS;
	for (uint32_t i = 0; i < stack->blocks; i++) {
		uint32_t place = pcce_stack_place(stack->group, first + i);

		if (stack->changed[i / 64] >> i % 64 & 1) {
			t->address[place] = (first + i) * PCCE_STACK_BLOCK;
			t->known[place] = *sent++;
		} else if (t->address[place] != (first + i) * PCCE_STACK_BLOCK) {
			return -EBADMSG;
		}
		/* The first block begins below sp. */
		memcpy(to, t->known[place].word + skip, PCCE_STACK_BLOCK - skip * sizeof(uint64_t));
		to += PCCE_STACK_BLOCK / sizeof(uint64_t) - skip;
		skip = 0;
	}
	b->whole->n_stack = (uint32_t)(to - pcce_sample_stack(b->whole));
	*out = b->whole;
	return 0;
}

uint64_t stack_blocks_copied(const struct stack_blocks *b)
{
	return b->copied;
}

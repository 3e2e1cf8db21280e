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
	struct pcce_sample *whole;	/* with room for the largest sample */
	struct pcce_stack_block *stack; /* of the sample, from the block with sp on */
	struct table **tables;		/* by ring */
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
	b->stack = malloc(PCCE_STACK_BYTES);
	if (b->tables && b->whole && b->stack)
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
	free(b->stack);
	free(b->whole);
	free(b);
}

/* Tells whether a sampler can have written a part that has this many words at most. */
static bool is_possible(const struct pcce_stack_changes *part, uint64_t words)
{
	unsigned int changed = 0;

	if (words < sizeof(*part) / sizeof(uint64_t))
		return false;
	for (uint32_t i = 0; i < PCCE_STACK_BLOCKS / 64; i++)
		changed += (unsigned int)__builtin_popcountll(part->changed[i]);
	return part->blocks <= PCCE_STACK_BLOCKS && part->group < PCCE_STACK_GROUPS &&
	       part->sent == changed &&
	       changed <= (words * sizeof(uint64_t) - sizeof(*part)) / PCCE_STACK_BLOCK;
}

/* Completes a part that begins at a block. Returns false if a block is not known. */
static bool complete_part(struct table *t, const struct pcce_stack_changes *part, uint64_t first,
			  struct pcce_stack_block *to)
{
	const struct pcce_stack_block *sent = (const void *)(part + 1);

	for (uint32_t i = 0; i < part->blocks; i++) {
		uint32_t place = pcce_stack_place(part->group, first + i);
		uint64_t address = (first + i) * PCCE_STACK_BLOCK;

		if (part->changed[i / 64] >> i % 64 & 1) {
			t->address[place] = address;
			t->known[place] = *sent++;
		} else if (t->address[place] != address) {
			return false;
		}
		to[i] = t->known[place];
	}
	return true;
}

int stack_blocks_complete(struct stack_blocks *b, uint32_t ring, const struct pcce_sample *s,
			  const struct pcce_sample **out)
{
	const uint64_t *at = pcce_sample_stack(s), *end = at + s->n_stack;
	uint64_t first = s->sp / PCCE_STACK_BLOCK,
		 skip = s->sp % PCCE_STACK_BLOCK / sizeof(uint64_t);
	const struct pcce_stack_changes *part;
	uint32_t blocks = 0;
	struct table *t;
	uint64_t *to;

	b->copied += s->n_stack * sizeof(uint64_t);
	if (!s->n_stack) {
		*out = s;
		return 0;
	}
	if (s->n_stack <= PCCE_COPY_REGISTERS)
		return -EBADMSG;
	if (!b->tables[ring])
		b->tables[ring] = calloc(1, sizeof(*b->tables[ring]));
	t = b->tables[ring];
	if (!t)
		return -ENOMEM;
	at += PCCE_COPY_REGISTERS;
	do {
		part = (const void *)at;
		if (blocks > PCCE_STACK_PLACES - PCCE_STACK_BLOCKS || blocks % PCCE_STACK_BLOCKS ||
		    !is_possible(part, (uint64_t)(end - at)) ||
		    !complete_part(t, part, first + blocks, &b->stack[blocks]))
			return -EBADMSG;
		blocks += part->blocks;
		at = (const uint64_t *)((const struct pcce_stack_block *)(part + 1) + part->sent);
	} while (at < end);
	at = pcce_sample_stack(s) + PCCE_COPY_REGISTERS;
	memcpy(b->whole, s, (size_t)((const char *)at - (const char *)s));
	to = (uint64_t *)(uintptr_t)pcce_sample_stack(b->whole) + PCCE_COPY_REGISTERS;
	b->whole->n_stack = PCCE_COPY_REGISTERS;
	if (blocks) {
		/* The first block begins below sp. */
		size_t words = blocks * (PCCE_STACK_BLOCK / sizeof(uint64_t)) - skip;

		memcpy(to, b->stack[0].word + skip, words * sizeof(uint64_t));
		b->whole->n_stack += (uint32_t)words;
	}
	*out = b->whole;
	return 0;
}

uint64_t stack_blocks_copied(const struct stack_blocks *b)
{
	return b->copied;
}

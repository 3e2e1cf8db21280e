/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds up equal samples in a hash table, and writes them as SUM records.
 *
 * A SUM record contains only those segments of its stack that its thread's previous record did not
 * have (struct pcce_sample). So records are written in the order of a walk through the tree of
 * segments: neighbours share most of their stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "merge/sums.h"
#include "base/array.h"
#include "base/hash_table.h"
#include "base/id_map.h"

#define BLOCK_BYTES (1u << 20)

/* Together with the entries: what distinguishes sums. Without padding. */
struct key {
	uint64_t ip, r11, id, ext, kip;
	uint64_t context[2]; /* 0: it is no context of a summary */
	const struct stack_node *below;
	uint32_t pid, tid, flags, event, n_entries, n_below, n_stack;
	uint32_t labels; /* label_sets_index() */
};

struct profile_sum {
	uint64_t samples, weight, time;
	uint64_t hash;
	struct key key;
	struct pcce_entry entries[]; /* and then restored frames */
};

struct site_block {
	struct site_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

HASH_TABLE_TYPE(sum_table, uint32_t);

struct merge_sums {
	struct stack_store *segments;
	struct kernel_stacks *kernel;
	struct label_sets *labels;
	struct site_block *blocks;
	struct profile_sum **list; /* in the order of their first samples */
	size_t n;
	struct sum_table by_key; /* index into list + 1 */
	merge_sums_judge *judge;
	void *judge_ctx;
};

/* A key with its entries and the hash of both. */
struct sum_key {
	const struct key *key;
	const struct pcce_entry *entries;
	const uint64_t *frames;
	uint64_t hash;
};

static uint64_t *frames_of(struct profile_sum *sum)
{
	return (uint64_t *)(sum->entries + sum->key.n_entries);
}

static bool has_key(struct profile_sum *sum, const struct sum_key *key)
{
	return sum->hash == key->hash && !memcmp(&sum->key, key->key, sizeof(sum->key)) &&
	       !memcmp(sum->entries, key->entries, sum->key.n_entries * sizeof(*sum->entries)) &&
	       (!sum->key.n_stack ||
		!memcmp(frames_of(sum), key->frames, sum->key.n_stack * sizeof(*key->frames)));
}

HASH_TABLE_FUNCTIONS(sum_table, uint32_t, struct sum_key, struct merge_sums, *s,
		     o->list[*s - 1]->hash, has_key(o->list[*s - 1], key));

struct merge_sums *merge_sums_new(void)
{
	struct merge_sums *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->segments = stack_store_new();
	s->kernel = kernel_stacks_new();
	s->labels = label_sets_new();
	if (s->segments && s->kernel && s->labels)
		return s;
	merge_sums_free(s);
	return NULL;
}

void merge_sums_free(struct merge_sums *s)
{
	if (!s)
		return;
	while (s->blocks) {
		struct site_block *b = s->blocks;

		s->blocks = b->next;
		free(b);
	}
	stack_store_free(s->segments);
	kernel_stacks_free(s->kernel);
	label_sets_free(s->labels);
	free(s->list);
	sum_table_free(&s->by_key);
	free(s);
}

struct stack_store *merge_sums_segments(struct merge_sums *s)
{
	return s->segments;
}

size_t merge_sums_count(const struct merge_sums *s)
{
	return s->n;
}

/* ---- adding ---------------------------------------------------------------------- */

static void *allocate(struct merge_sums *s, size_t size)
{
	struct site_block *b = s->blocks;
	void *p;

	if (!b || b->size - b->used < size) {
		size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		b = malloc(sizeof(*b) + bytes);
		if (!b)
			return NULL;
		b->next = s->blocks;
		b->used = 0;
		b->size = bytes;
		s->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += (size + 15) & ~(size_t)15;
	if (b->used > b->size)
		b->used = b->size;
	return p;
}

void merge_sums_set_judge(struct merge_sums *s, merge_sums_judge *judge, void *ctx)
{
	s->judge = judge;
	s->judge_ctx = ctx;
}

/* Numbers the stack among those of all recordings. Without room for it, its innermost frame
 * remains. */
static void share_kernel_stack(struct merge_sums *s, const struct kernel_stack *stack,
			       struct key *key)
{
	const struct kernel_stack *own =
		stack ? kernel_stacks_find(s->kernel, stack->frames, stack->n) : NULL;

	if (stack && !own)
		key->flags &= ~PCCE_SAMPLE_KERNEL_STACK;
	if (stack)
		key->kip = own ? own->number : stack->frames[0];
}

static int add_sum_with(struct merge_sums *s, const struct pcce_sample *from,
			const struct pcce_entry *entries, const struct stack_node *below,
			const uint64_t *frames, const struct kernel_stack *kernel,
			const struct merge_context *context)
{
	struct key key = {
		.ip = from->ip,
		.r11 = from->r11,
		.id = from->id,
		.ext = from->ext,
		.kip = from->kip,
		.context = {context->key[0], context->key[1]},
		.below = below,
		.pid = from->pid,
		.tid = from->tid,
		.flags = from->flags,
		.event = from->event,
		.n_entries = from->n_entries,
		.n_below = from->n_below,
		.n_stack = from->n_stack,
	};
	size_t size = key.n_entries * sizeof(*entries), more = key.n_stack * sizeof(*frames);
	struct sum_key whole = {&key, entries, frames, 0};
	struct profile_sum *sum;
	uint64_t hash;
	uint32_t *slot;

	share_kernel_stack(s, kernel, &key);
	if (context->labels)
		key.labels = label_sets_index(label_sets_plain(s->labels, context->labels));
	hash = XXH3_64bits_withSeed(
		frames, more, XXH3_64bits_withSeed(entries, size, XXH3_64bits(&key, sizeof(key))));
	whole.hash = hash;
	slot = sum_table_slot(&s->by_key, s, hash, &whole);
	if (!slot)
		return -ENOMEM;
	if (*slot) {
		sum = s->list[*slot - 1];
		sum->samples += context->samples;
		sum->weight += context->weight;
		if (from->time < sum->time)
			sum->time = from->time;
		return 0;
	}
	if (s->n >= UINT32_MAX - 1 || array_grow(&s->list, s->n, sizeof(struct profile_sum *)))
		return -ENOMEM;
	sum = allocate(s, sizeof(*sum) + size + more);
	if (!sum)
		return -ENOMEM;
	*sum = (struct profile_sum){
		.samples = context->samples,
		.weight = context->weight,
		.time = from->time,
		.hash = hash,
		.key = key,
	};
	memcpy(sum->entries, entries, size);
	if (more)
		memcpy(frames_of(sum), frames, more);
	s->list[s->n++] = sum;
	sum_table_fill(&s->by_key, slot, s->n);
	return 0;
}

int merge_sums_add(struct merge_sums *s, const struct pcce_sample *from,
		   const struct pcce_entry *entries, const struct stack_node *below,
		   const uint64_t *frames, const struct kernel_stack *kernel,
		   const struct merge_context *add)
{
	return add_sum_with(s, from, entries, below, frames, kernel, add);
}

int merge_sums_add_context(struct merge_sums *s, const struct pcce_sample *from,
			   const struct pcce_entry *entries, const struct stack_node *below,
			   const struct kernel_stack *kernel, const struct merge_context *context)
{
	return add_sum_with(s, from, entries, below, NULL, kernel, context);
}

/* ---- the order of stacks --------------------------------------------------------- */

struct tree {
	struct id_map numbers; /* of nodes, from 1; 0 is the root */
	struct tree_node {
		uint32_t child, next; /* 0: none */
		uint32_t rank;	      /* in the walk */
	} * nodes;
	size_t n;
};

static uint32_t number_of(struct tree *t, const struct stack_node *node)
{
	uint64_t words[ID_MAP_WORDS] = {(uintptr_t)node};
	struct id_map_entry *e;

	if (!node)
		return 0;
	e = id_map_find(&t->numbers, words);
	return e && e->number ? e->number - 1 : UINT32_MAX;
}

/* Adds a node after those below it, outermost first. */
static int add_stack(struct tree *t, const struct stack_node *node)
{
	const struct stack_node **chain = NULL;
	size_t n = 0;
	int r = 0;

	for (; node && number_of(t, node) == UINT32_MAX && !r; node = stack_store_below(node)) {
		r = array_grow(&chain, n, sizeof(const struct stack_node *));
		if (!r)
			chain[n++] = node;
	}
	while (n && !r) {
		const struct stack_node *one = chain[--n];
		uint64_t words[ID_MAP_WORDS] = {(uintptr_t)one};
		uint32_t parent = number_of(t, stack_store_below(one));
		struct id_map_entry *e = id_map_find(&t->numbers, words);

		if (!e || array_grow(&t->nodes, t->n, sizeof(*t->nodes))) {
			r = -ENOMEM;
			break;
		}
		t->nodes[t->n] = (struct tree_node){.next = t->nodes[parent].child};
		t->nodes[parent].child = t->n;
		id_map_fill(&t->numbers, e, words, t->n);
		t->n++;
	}
	free(chain);
	return r;
}

static int rank_nodes(struct tree *t)
{
	uint32_t *stack = malloc((t->n + 1) * sizeof(*stack)), ranked = 0;
	size_t n = 0;

	if (!stack)
		return -ENOMEM;
	stack[n++] = 0;
	while (n) {
		uint32_t node = stack[--n];

		t->nodes[node].rank = ranked++;
		for (uint32_t c = t->nodes[node].child; c; c = t->nodes[c].next)
			stack[n++] = c;
	}
	free(stack);
	return 0;
}

struct order {
	uint32_t pid, tid, rank, sum;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->sum < y->sum ? -1 : x->sum > y->sum;
}

static int put_in_order(const struct merge_sums *s, struct order *order)
{
	struct tree t = {.n = 1};
	int r = array_grow(&t.nodes, 0, sizeof(*t.nodes));

	if (!r)
		t.nodes[0] = (struct tree_node){0};
	for (size_t i = 0; i < s->n && !r; i++)
		r = add_stack(&t, s->list[i]->key.below);
	r = r ? r : rank_nodes(&t);
	for (size_t i = 0; i < s->n && !r; i++) {
		const struct key *k = &s->list[i]->key;

		order[i] = (struct order){k->pid, k->tid, t.nodes[number_of(&t, k->below)].rank, i};
	}
	if (!r)
		qsort(order, s->n, sizeof(*order), compare_order);
	id_map_free(&t.numbers);
	free(t.nodes);
	return r;
}

/* ---- writing --------------------------------------------------------------------- */

/* What a reader knows of the current thread's stack. */
struct level {
	const struct stack_node *node;
	uint64_t generation;
};

struct sending {
	struct level levels[PCCE_AREA_SEGMENTS];
	struct pcce_segment *segments; /* room for the new ones of a sum */
	uint64_t generation;	       /* the last one used */
	struct kernel_stacks_written kernel;
	struct label_sets_written labels;
	uint32_t pid, tid; /* as the keys have them */
};

/* Fills segments with those that a reader does not know yet; returns their number. */
static uint32_t fill_segments(struct sending *out, const struct key *key)
{
	uint32_t index = key->n_below, first, n;

	for (const struct stack_node *node = key->below; node && index;
	     node = stack_store_below(node)) {
		if (out->levels[index - 1].node == node)
			break;
		index--;
		out->levels[index].node = node;
		out->levels[index].generation = 0;
	}
	first = index;
	n = key->below ? key->n_below - first : 0;
	for (index = first; index < first + n; index++) {
		struct pcce_segment *segment = &out->segments[index - first];
		const struct stack_node *node = out->levels[index].node;

		out->levels[index].generation = ++out->generation;
		segment->generation = out->generation;
		segment->index = index;
		segment->base.id = stack_store_below(node) ? out->levels[index - 1].generation : 0;
		segment->base.site = PCCE_MARK_WORD;
		memcpy(segment->entry, stack_store_entries(node), sizeof(segment->entry));
	}
	return n;
}

static int put_sum(const struct merge_sums *s, struct sending *out, struct profile_sum *sum,
		   struct datafile_writer *w,
		   void (*number)(const void *ctx, struct pcce_sample *s), const void *ctx)
{
	const struct key *key = &sum->key;
	uint64_t error = 0;
	int r = 0;
	bool is_context = key->context[0] || key->context[1];
	struct pcce_rec_context context = {.samples = sum->samples,
					   .weight = sum->weight,
					   .key = {key->context[0], key->context[1]}};
	struct pcce_rec_sum rec = {
		.samples = sum->samples,
		.weight = sum->weight,
		.sample =
			{
				.time = sum->time,
				.pid = key->pid,
				.tid = key->tid,
				.ip = key->ip,
				.r11 = key->r11,
				.id = key->id,
				.ext = key->ext,
				.kip = key->kip,
				.flags = key->flags,
				.n_entries = key->n_entries,
				.n_below = key->n_below,
				.n_stack = key->n_stack,
				.event = key->event,
			},
	};
	struct iovec parts[3] = {{sum->entries, key->n_entries * sizeof(*sum->entries)},
				 {out->segments, 0},
				 {frames_of(sum), key->n_stack * sizeof(uint64_t)}};

	if (is_context && !s->judge(s->judge_ctx, key->context, &error))
		return 0;
	if (key->pid != out->pid || key->tid != out->tid) { /* another thread */
		memset(out->levels, 0, sizeof(out->levels));
		out->pid = key->pid;
		out->tid = key->tid;
	}
	rec.sample.n_segments = fill_segments(out, key);
	rec.sample.below = key->below ? out->levels[key->n_below - 1].generation : 0;
	if (number)
		number(ctx, &rec.sample);
	if (key->flags & PCCE_SAMPLE_KERNEL_STACK)
		r = kernel_stacks_write(&out->kernel, w, kernel_stacks_get(s->kernel, key->kip),
					&rec.sample);
	if (!r && key->labels)
		r = label_sets_write(&out->labels, w, label_sets_get(s->labels, key->labels - 1));
	if (r)
		return r;
	parts[1].iov_len = rec.sample.n_segments * sizeof(*out->segments);
	if (is_context) {
		context.error = error;
		context.sample = rec.sample;
		return datafile_put(w, PCCE_REC_CONTEXT, &context, sizeof(context), parts, 3);
	}
	return datafile_put(w, PCCE_REC_SUM, &rec, sizeof(rec), parts, 3);
}

int merge_sums_write(const struct merge_sums *s, struct datafile_writer *w,
		     void (*number)(const void *ctx, struct pcce_sample *s), const void *ctx)
{
	struct order *order = malloc((s->n + 1) * sizeof(*order));
	struct sending *out = calloc(1, sizeof(*out));
	int r = -ENOMEM;

	if (out)
		out->segments = calloc(PCCE_AREA_SEGMENTS, sizeof(*out->segments));
	if (order && out && out->segments)
		r = put_in_order(s, order);
	for (size_t i = 0; i < s->n && !r; i++)
		r = put_sum(s, out, s->list[order[i].sum], w, number, ctx);
	if (out) {
		free(out->segments);
		kernel_stacks_written_free(&out->kernel);
		label_sets_written_free(&out->labels);
	}
	free(out);
	free(order);
	return r;
}

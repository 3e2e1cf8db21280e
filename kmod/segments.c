// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the encoding stack below the current segment, and names each segment by a hash of its
 * content.
 *
 * Such segments do not change, and each has a generation, a number that its thread uses for no
 * other (pcce/abi.h). So each segment is read once. From then on it has a name: a keyed hash of its
 * content and of the name of the segment below it. Equal stacks have equal names, in whichever
 * thread, so one name identifies a whole stack.
 *
 * A sample carries the name of what is below its current segment, and those segments whose names no
 * earlier sample of the session has carried: mostly none. Therefore the price of a sample does not
 * depend on depth.
 *
 * There are two tables, both of fixed size. They forget entries when they are full; then segments
 * are read or sent again.
 *
 *   known   from a task and a generation to a name.  An entry is two words.  They belong together
 *           only if their exclusive or is the tag that is looked for.  So an entry that another CPU
 *           has written half is not found.
 *   sent    names that have been sent.  A name enters the table when the sample that carries its
 *           segment is in its ring.  So a sample that leaves the segment out is later, for the
 *           reader, too, however long a handler is delayed (the CPU of a virtual machine may be).
 *
 * Nobody else can make two stacks with the same name, since the key is the session's secret. A
 * program can lie about its generations. It then confuses only its own stacks, because the tag also
 * comes from the task.
 *
 * The search for the oldest unknown segment (pcce/page_reader.h) may be wrong, since tables forget.
 * It ends with a segment that is known, or at the outermost one. From there on all segments are
 * read, as many as one sample may carry. The next samples carry the rest.
 */
#include <linux/limits.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/vmalloc.h>

#include "segments.h"

#define WAYS 4
#define NEAR 256 /* segments that are searched one by one */
#define KNOWN_SETS 4096
#define SENT 8192

struct known {
	u64 check, name;
};

struct pcce_segments {
	siphash_key_t key;
	struct known known[KNOWN_SETS][WAYS];
	u64 sent[SENT];
};

size_t pcce_segments_bytes(void)
{
	return PAGE_ALIGN(sizeof(struct pcce_segments));
}

int pcce_segments_make(struct pcce_session *s)
{
	s->segments =
		__vmalloc(sizeof(*s->segments), GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!s->segments)
		return -ENOMEM;
	get_random_bytes(&s->segments->key, sizeof(s->segments->key));
	return 0;
}

void pcce_segments_free(struct pcce_session *s)
{
	vfree(s->segments);
	s->segments = NULL;
}

/* The start time distinguishes a task from earlier ones with the same number. */
static u64 generation_tag(const struct pcce_segments *g, u64 generation)
{
	return siphash_3u64(current->start_time, task_pid_nr(current), generation, &g->key);
}

/* Returns 0 if the generation is not known. */
static u64 find_name(struct pcce_segments *g, u64 generation)
{
	u64 tag, name;
	struct known *set;
	int i;

	if (!generation)
		return 0;
	tag = generation_tag(g, generation);
	set = g->known[tag % KNOWN_SETS];
	for (i = 0; i < WAYS; i++) {
		name = READ_ONCE(set[i].name);
		if ((READ_ONCE(set[i].check) ^ name) == tag)
			return name;
	}
	return 0;
}

static void learn_name(struct pcce_segments *g, u64 generation, u64 name)
{
	u64 tag = generation_tag(g, generation);
	struct known *set = g->known[tag % KNOWN_SETS], *victim = &set[name % WAYS];
	int i;

	for (i = 0; i < WAYS; i++)
		if (!READ_ONCE(set[i].name) ||
		    (READ_ONCE(set[i].check) ^ READ_ONCE(set[i].name)) == tag) {
			victim = &set[i];
			break;
		}
	WRITE_ONCE(victim->name, name);
	WRITE_ONCE(victim->check, tag ^ name);
}

/* The search for a segment whose name is known. */
struct search {
	struct pcce_segments *g;
	const struct pcce_page_stack *stack;
	u64 generation, name; /* of the last segment that was found; 0: none was */
};

static int has_name(void *ctx, u64 index)
{
	struct search *f = ctx;
	u64 generation, name;

	if (!pcce_read_user(&generation, pcce_stored_segment(f->stack, index), sizeof(generation)))
		return 0;
	name = find_name(f->g, generation);
	if (!name)
		return 0;
	f->generation = generation;
	f->name = name;
	return 1;
}

static u64 hash_segment(const struct pcce_segments *g, const struct pcce_segment *segment)
{
	/* All fields except the generation. */
	u64 name = siphash(&segment->index, sizeof(*segment) - offsetof(struct pcce_segment, index),
			   &g->key);

	return name ? name : 1;
}

/*
 * Gives n segments their names. The first one has this index, and below it is the segment that was
 * found. Moves those that have not been sent to the beginning, in order, and writes their
 * generations to `brings`. f becomes the generation and the name of the last segment. Returns the
 * number of unsent segments.
 */
static u32 name_segments(struct search *f, struct pcce_segment *segments, u64 first, u32 n,
			 u64 *brings)
{
	struct pcce_segments *g = f->g;
	u32 i, kept = 0;

	for (i = 0; i < n; i++) {
		struct pcce_segment *segment = &segments[i];
		u64 generation = segment->generation;
		u64 index = first + i;

		if (!generation) { /* this place holds no segment */
			f->generation = 0;
			f->name = 0;
			continue;
		}
		segment->index = index;
		segment->base.id = index && segment->base.id == f->generation ? f->name : 0;
		segment->base.site = PCCE_MARK_WORD;
		f->generation = generation;
		f->name = hash_segment(g, segment);
		segment->generation = f->name;
		if (READ_ONCE(g->sent[f->name % SENT]) == f->name) {
			learn_name(g, generation, f->name);
			continue;
		}
		if (kept != i)
			segments[kept] = *segment;
		brings[kept++] = generation;
	}
	return kept;
}

void pcce_read_segments(const struct pcce_session *s, struct pcce_cpu *c,
			const struct pcce_page_stack *stack, void *to, size_t room,
			struct pcce_reading *r)
{
	struct pcce_segments *g = s->segments;
	size_t at = PCCE_HEAD + r->n_entries * sizeof(struct pcce_entry);
	struct pcce_segment *segments = to + at;
	struct search found = {.g = g, .stack = stack};
	u64 first = stack->n_below - 1, max, n;
	struct pcce_chosen chosen;

	r->flags |= PCCE_SAMPLE_BY_CONTENT;
	r->below = find_name(g, stack->below);
	if (r->below)
		return;
	r->flags |= PCCE_SAMPLE_TRUNCATED;
	/* Without a generation the segment never existed: what is below is lost. */
	if (!stack->below || (!stack->area && !stack->kept))
		return;
	if (stack->area)
		first = pcce_find_first_new(stack->n_below, NEAR, has_name, &found);
	max = min_t(u64, (room - at) / sizeof(*segments), PCCE_SAMPLE_SEGMENTS);
	pcce_choose_segments(&chosen, stack, first, max);
	n = chosen.stored + chosen.kept;
	if (!n || !pcce_copy_segments(segments, stack, &chosen, pcce_read_user))
		return;
	r->n_segments = name_segments(&found, segments, first, n, c->brings);
	if (found.generation == stack->below) {
		r->below = found.name;
		r->flags &= ~PCCE_SAMPLE_TRUNCATED;
	}
}

void pcce_segments_sent(const struct pcce_session *s, const struct pcce_cpu *c, const void *record,
			const struct pcce_reading *r)
{
	struct pcce_segments *g = s->segments;
	const struct pcce_segment *segments =
		record + PCCE_HEAD + r->n_entries * sizeof(struct pcce_entry);
	u32 i;

	for (i = 0; i < r->n_segments; i++) {
		u64 name = segments[i].generation;

		learn_name(g, c->brings[i], name);
		WRITE_ONCE(g->sent[name % SENT], name);
	}
}

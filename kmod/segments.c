// SPDX-License-Identifier: GPL-2.0
/*
 * The encoding stack below the current segment.
 *
 * Such segments do not change while they are below, and each has a generation, a number that its
 * thread uses for no other (see pcce/abi.h).  So each is read once.  From then on it has a name
 * here: a keyed hash of what it holds and of the name of the segment below it, so that equal stacks
 * have equal names, in whichever thread, and one name stands for a whole stack.  A sample carries
 * the name of what is below its current segment, and those segments whose names no earlier sample
 * of the session has carried: mostly none.  That makes the price of a sample independent of depth,
 * and samples of different threads easy to compare (aggregate.c).
 *
 * Two tables, both of a fixed size; they forget when they are full, which makes segments be read,
 * or sent, again: known   from a task and a generation to a name. An entry is two words that only
 * belong together if their exclusive or is the tag that is looked for; one that another CPU has
 * written half is not found. sent    names that have been sent. A name enters them when the sample
 * that carries its segment is in its ring, so that those that leave the segment out are later, for
 * the reader, too: however long a handler is held up, as the CPU of a virtual machine may be.
 * Nobody else can make up two stacks with the same name, since the key is the session's secret.
 * A program can lie about its generations; it then confuses its own stacks and no others, because
 * the tag comes from the task as well.
 *
 * Which segments have to be read?  Mostly only the newest is not known, so the search goes down
 * from there; if nothing is known for a long way, then by halves.  It need not be right about what
 * is known: it ends with one that is, or at the outermost, and from there on all are read, as many
 * as one sample may carry.  The rest comes with the next ones.
 */
#include <linux/limits.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/vmalloc.h>

#include "segments.h"

#define WAYS 4
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

/* A task is told from those that had its number before by the time of its beginning. */
static u64 generation_tag(const struct pcce_segments *g, u64 generation)
{
	return siphash_3u64(current->start_time, task_pid_nr(current), generation, &g->key);
}

/* 0: not known. */
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

static u64 read_generation(const struct pcce_stack *stack, u32 index)
{
	u64 generation;

	if (!pcce_read_user(&generation, stack->area + index * sizeof(struct pcce_segment),
			    sizeof(generation)))
		return 0;
	return generation;
}

/* What is known about the segment below the first one that is read. */
struct lowest {
	u32 index; /* of the first one */
	u64 generation, name;
};

static bool find_named_segment(struct pcce_segments *g, const struct pcce_stack *stack, u32 index,
			       struct lowest *l)
{
	u64 generation = read_generation(stack, index), name = find_name(g, generation);

	if (!name)
		return false;
	*l = (struct lowest){index + 1, generation, name};
	return true;
}

/* Of n segments, the newest of which is not known. */
static struct lowest find_lowest(struct pcce_segments *g, const struct pcce_stack *stack, u32 n)
{
	struct lowest l = {};
	u32 low = 0, high = n - 1, i;

	for (i = 0; i < PCCE_SAMPLE_SEGMENTS && high; i++) {
		if (find_named_segment(g, stack, high - 1, &l))
			return l;
		high--;
	}
	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (find_named_segment(g, stack, middle, &l))
			low = middle + 1;
		else
			high = middle;
	}
	return l;
}

/* Copies n segments from first on, the newest of them from the page's other half if it is still
 * there only. */
static bool copy_segments(struct pcce_segment *to, const struct pcce_stack *stack, u32 first, u32 n,
			  bool kept)
{
	u32 stored = n - kept;
	struct pcce_segment *newest = &to[stored];

	if (stored && !pcce_read_user(to, stack->area + first * sizeof(*to), stored * sizeof(*to)))
		return false;
	if (!kept)
		return true;
	newest->generation = stack->below;
	return pcce_read_user(&newest->base,
			      stack->page + offsetof(struct pcce_page, base) +
				      (~stack->off & PCCE_OFF_HALF),
			      sizeof(*newest) - offsetof(struct pcce_segment, base));
}

static u64 hash_segment(const struct pcce_segments *g, const struct pcce_segment *segment)
{
	/* All but the generation. */
	u64 name = siphash(&segment->index, sizeof(*segment) - offsetof(struct pcce_segment, index),
			   &g->key);

	return name ? name : 1;
}

/*
 * Gives n segments from l.index on their names, and keeps those that have not been sent, in order,
 * at the beginning: these have the generations `brings`. l becomes the generation of the last one,
 * and its name.
 */
static u32 name_segments(struct pcce_segments *g, struct pcce_segment *segments, u32 n, u64 *brings,
			 struct lowest *l)
{
	u32 i, kept = 0;

	for (i = 0; i < n; i++) {
		struct pcce_segment *segment = &segments[i];
		u64 generation = segment->generation;
		u32 index = l->index + i;

		if (!generation) { /* nothing is there */
			l->generation = 0;
			l->name = 0;
			continue;
		}
		segment->index = index;
		segment->base.id = index && segment->base.id == l->generation ? l->name : 0;
		segment->base.site = PCCE_MARK_WORD;
		l->generation = generation;
		l->name = hash_segment(g, segment);
		segment->generation = l->name;
		if (READ_ONCE(g->sent[l->name % SENT]) == l->name) {
			learn_name(g, generation, l->name);
			continue;
		}
		if (kept != i)
			segments[kept] = *segment;
		brings[kept++] = generation;
	}
	return kept;
}

void pcce_read_segments(const struct pcce_session *s, struct pcce_cpu *c,
			const struct pcce_stack *stack, void *to, size_t room,
			struct pcce_reading *r)
{
	struct pcce_segments *g = s->segments;
	size_t at = PCCE_HEAD + r->n_entries * sizeof(struct pcce_entry);
	struct pcce_segment *segments = to + at;
	bool kept = (stack->place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT;
	struct lowest l;
	u32 n;

	r->flags |= PCCE_SAMPLE_BY_CONTENT;
	r->below = find_name(g, stack->below);
	if (r->below)
		return;
	r->flags |= PCCE_SAMPLE_TRUNCATED;
	/* Without a generation it never was there to be read: what is below is lost. */
	if (!stack->below || (!stack->area && !kept) || r->n_below > PCCE_AREA_SEGMENTS)
		return;
	/* Without an area there is the one that is kept, and no other. */
	l = stack->area ? find_lowest(g, stack, r->n_below)
			: (struct lowest){.index = r->n_below - 1};
	n = min_t(size_t, (room - at) / sizeof(*segments), PCCE_SAMPLE_SEGMENTS);
	if (n < r->n_below - l.index)
		kept = false;
	else
		n = r->n_below - l.index;
	if (!n || !copy_segments(segments, stack, l.index, n, kept))
		return;
	r->n_segments = name_segments(g, segments, n, c->brings, &l);
	if (l.generation == stack->below) {
		r->below = l.name;
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

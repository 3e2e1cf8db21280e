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
 * depend on depth, and samples of different threads are easy to compare (aggregate.c).
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
 * Which segments have to be read? Mostly only the newest is unknown, so the search goes down from
 * there, segment by segment; after many steps it continues by bisection. The search may be wrong
 * about what is known. It ends with a segment that is known, or at the outermost one. From there on
 * all segments are read, as many as one sample may carry. The next samples carry the rest.
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

static u64 read_generation(const struct pcce_stack *stack, u32 index)
{
	u64 generation;

	if (!pcce_read_user(&generation, stack->area + index * sizeof(struct pcce_segment),
			    sizeof(generation)))
		return 0;
	return generation;
}

/* The segment below the first one that is read. */
struct lowest {
	u32 index; /* index of the first one that is read */
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

/* Finds the lowest of n segments to read; the newest one is not known. */
static struct lowest find_lowest(struct pcce_segments *g, const struct pcce_stack *stack, u32 n)
{
	struct lowest l = {};
	u32 low = 0, high = n - 1, i;

	for (i = 0; i < NEAR && high; i++) {
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

/* Copies n segments, the first with this index. If kept, the newest one is still only in the other
 * half of the page. */
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
	/* All fields except the generation. */
	u64 name = siphash(&segment->index, sizeof(*segment) - offsetof(struct pcce_segment, index),
			   &g->key);

	return name ? name : 1;
}

/*
 * Gives n segments from l->index on their names. Moves those that have not been sent to the
 * beginning, in order, and writes their generations to `brings`. l becomes the generation and the
 * name of the last segment. Returns the number of unsent segments.
 */
static u32 name_segments(struct pcce_segments *g, struct pcce_segment *segments, u32 n, u64 *brings,
			 struct lowest *l)
{
	u32 i, kept = 0;

	for (i = 0; i < n; i++) {
		struct pcce_segment *segment = &segments[i];
		u64 generation = segment->generation;
		u32 index = l->index + i;

		if (!generation) { /* this place holds no segment */
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
	/* Without a generation the segment never existed: what is below is lost. */
	if (!stack->below || (!stack->area && !kept) || r->n_below > PCCE_AREA_SEGMENTS)
		return;
	/* Without an area there is only the segment that is kept in the page. */
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

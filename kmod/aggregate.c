// SPDX-License-Identifier: GPL-2.0
/*
 * Aggregates equal samples, with a hash table over the records of a segment.
 *
 * A ring of a session that aggregates has two segments. The handler writes a sample to the end of
 * the segment that is being filled, as to a ring. Then the index tells whether an equal record is
 * already there. If so, the handler adds the sample to that record, and the next sample overwrites
 * the new one. So each distinct context is kept once, with its stack. The comparison is exact; the
 * hash only finds the place.
 *
 * The index is a hash table with open addressing. The handler follows a chain for at most PROBES
 * places, so that a program cannot make it long by its choice of contexts. A record that finds no
 * place stays, but is not found again. That costs room, but loses nothing.
 *
 * ROTATE (process context) empties the other segment, and makes it the current one. Then it waits
 * until no handler works on the old one any more. Handlers run with preemption disabled or in
 * interrupts, for which synchronize_rcu() waits.
 */
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/ktime.h>
#include <linux/vmalloc.h>

#include "aggregate.h"

#define PROBES 16
#define R11_VARIANTS 4
/* Bytes of a segment for each place of the index; records are at least twice that long. */
#define SLOT_EVERY 64

struct slot {
	u32 hash;
	u32 at; /* 1 + the record's offset in the segment; 0: free place */
};

static u32 index_slots(const struct pcce_session *s)
{
	return s->config.ring_bytes / SLOT_EVERY;
}

size_t pcce_aggregate_bytes(const struct pcce_session *s)
{
	if (!(s->config.flags & PCCE_KMOD_AGGREGATE))
		return 0;
	return PAGE_ALIGN(s->config.n_rings * 2ULL * index_slots(s) * sizeof(struct slot));
}

int pcce_aggregate_make(struct pcce_session *s)
{
	struct slot *index =
		__vmalloc(pcce_aggregate_bytes(s), GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	unsigned int cpu;

	if (!index)
		return -ENOMEM;
	s->indexes = index;
	for_each_possible_cpu (cpu) {
		struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);

		if (!c->writer)
			continue;
		c->index[0] = index;
		c->index[1] = index + index_slots(s);
		index += 2 * index_slots(s);
	}
	return 0;
}

void pcce_aggregate_free(struct pcce_session *s)
{
	vfree(s->indexes);
	s->indexes = NULL;
}

void pcce_aggregate_rotate(struct pcce_session *s, struct pcce_kmod_rotate *rotate)
{
	u32 old = s->generation, new = !old;
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);

		if (!c->writer)
			continue;
		memset(c->index[new], 0, index_slots(s) * sizeof(struct slot));
		c->used[new] = 0;
		WRITE_ONCE(c->writer->used[new], 0);
	}
	rotate->segment = old;
	rotate->time = ktime_get_mono_fast_ns();
	/* Pairs with the acquire in the handler, which finds the segment empty, and reads its clock
	 * later. */
	smp_store_release(&s->generation, new);
	synchronize_rcu();
}

static char *segment_data(const struct pcce_session *s, const struct pcce_cpu *c, u32 segment)
{
	return c->data + segment * s->config.segment_stride;
}

static struct pcce_sample *record_sample(struct pcce_kmod_record *r)
{
	return (struct pcce_sample *)(r + 1);
}

static u32 hash_record(struct pcce_kmod_record *r)
{
	struct pcce_sample *s = record_sample(r);
	u64 head[] = {r->image, s->ip, s->id, s->ext, ((u64)s->pid << 32) | s->n_below,
		      s->below, s->kip};
	u32 h = jhash2((u32 *)head, ARRAY_SIZE(head) * 2, 0);

	return jhash2((u32 *)(s + 1), s->n_entries * (sizeof(struct pcce_entry) / sizeof(u32)), h);
}

/* Compares all fields except r11. */
static bool same_contents(struct pcce_kmod_record *x, struct pcce_kmod_record *y)
{
	struct pcce_sample *a = record_sample(x), *b = record_sample(y);

	return x->image == y->image && a->pid == b->pid && a->ip == b->ip && a->id == b->id &&
	       a->ext == b->ext && (a->flags & ~PCCE_SAMPLE_R11_MIXED) == b->flags &&
	       a->n_below == b->n_below && a->below == b->below && a->kip == b->kip &&
	       a->n_entries == b->n_entries &&
	       !memcmp(a + 1, b + 1, a->n_entries * sizeof(struct pcce_entry));
}

/* False: the weight would exceed the sample's field. */
static bool count_in_record(struct pcce_kmod_record *to, struct pcce_kmod_record *one)
{
	u32 weight;

	if (check_add_overflow(record_sample(to)->weight, record_sample(one)->weight, &weight))
		return false;
	record_sample(to)->weight = weight;
	if (record_sample(to)->tid != record_sample(one)->tid)
		record_sample(to)->tid = 0;
	record_sample(to)->sp++;
	to->last = one->last;
	return true;
}

/*
 * Finds a record with equal content, and adds this sample to it. False: the sample stays as a
 * record. r11 matters only while ip is in a push or pop helper, which the kernel cannot tell;
 * elsewhere it has any value. So a few values get their own records, and all others share one that
 * is marked.
 */
static bool count_in_equal(struct pcce_session *s, struct pcce_cpu *c, u32 segment,
			   struct pcce_kmod_record *new, bool stays)
{
	u32 hash = hash_record(new), mask = index_slots(s) - 1, variants = 0, i;
	struct slot *index = (struct slot *)c->index[segment], *slot = NULL;
	struct pcce_kmod_record *old, *mixed = NULL;

	for (i = 0; i < PROBES; i++) {
		slot = &index[(hash + i) & mask];
		if (!slot->at)
			break;
		if (slot->hash != hash)
			continue;
		old = (void *)segment_data(s, c, segment) + slot->at - 1;
		if (stays || !same_contents(old, new))
			continue;
		if (record_sample(old)->flags & PCCE_SAMPLE_R11_MIXED)
			mixed = old;
		else if (record_sample(old)->r11 != record_sample(new)->r11)
			variants++;
		else if (count_in_record(old, new))
			return true;
	}
	if (variants >= R11_VARIANTS) {
		if (mixed && count_in_record(mixed, new))
			return true;
		record_sample(new)->flags |= PCCE_SAMPLE_R11_MIXED;
	}
	if (i < PROBES)
		*slot = (struct slot){hash, c->used[segment] + 1};
	return false;
}

void *pcce_aggregate_reserve(struct pcce_session *s, struct pcce_cpu *c, u32 segment, size_t *room)
{
	/* Then one more record fits, whatever its size. */
	if (c->used[segment] < s->config.ring_bytes) {
		*room = PCCE_KMOD_RECORD_MAX;
		return segment_data(s, c, segment) + c->used[segment];
	}
	c->dropped[PCCE_KMOD_DROP_FULL]++;
	return NULL;
}

void pcce_aggregate_commit(struct pcce_session *s, struct pcce_cpu *c, u32 segment)
{
	u32 before = c->used[segment], after;
	struct pcce_kmod_record *new = (void *)segment_data(s, c, segment) + before;

	c->samples++;
	/* A record with segments stays: no other one carries them. */
	if (count_in_equal(s, c, segment, new, record_sample(new)->n_segments))
		return;
	after = before + new->size;
	WRITE_ONCE(c->used[segment], after);
	WRITE_ONCE(c->writer->used[segment], after);
	if (after >= s->config.watermark && before < s->config.watermark)
		irq_work_queue(&c->wake);
}

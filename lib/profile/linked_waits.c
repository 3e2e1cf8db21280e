/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the samples of the threads that ended waits for locks. If the profile is to have links,
 * each context continues with that of the other one, outermost function first:
 *
 *     waiter;want;[ended by];holder;give            event lock
 *     holder;give;[ended a wait of];waiter;want     event lock:holder
 *
 * This comes after all samples are decoded: each pair of instructions becomes a new one, at a new
 * node of the tree.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile/profile_internal.h"

#define NOT_HERE UINT32_MAX

struct linked {
	uint32_t from, to; /* instructions; to: NOT_HERE - end: there is none */
	uint32_t link;	   /* the new instruction */
	bool holder;	   /* `from` is that of the holder */
};

HASH_TABLE_TYPE(linked_table, struct linked);

static uint64_t hash_linked(const struct linked *l)
{
	uint64_t h = ((uint64_t)l->from << 32 | l->to) * 0x9e3779b97f4a7c15ULL;

	return h ^ h >> 29;
}

HASH_TABLE_FUNCTIONS(linked_table, struct linked, struct linked, void, s->link,
		     hash_linked(s) + s->holder,
		     s->from == key->from && s->to == key->to && s->holder == key->holder);

struct linking {
	struct profile *p;
	const struct decode_cache *lines;
	struct linked_table table;
};

/* A sample of a thread that ended a wait. */
struct ender {
	uint64_t time;
	uint32_t tid, sample;
};

COMPARE_BY2(compare_enders, struct ender, time, tid);

static int list_enders(const struct profile *p, struct ender **out, size_t *n)
{
	const struct profile_internals *in = p->in;
	char name[256];

	*out = NULL;
	*n = 0;
	for (size_t i = 0; i < in->n_samples; i++) {
		uint32_t event = profile_stream_event(p, in->stream[i]);

		if (strcmp(profile_event(p, event, name, sizeof(name)), "lock:holder") != 0)
			continue;
		if (array_grow(out, *n, sizeof(**out)))
			return -ENOMEM;
		(*out)[(*n)++] = (struct ender){in->time[i],
						sample_streams_get(p->streams, in->stream[i])->tid,
						(uint32_t)i};
	}
	if (*n)
		qsort(*out, *n, sizeof(**out), compare_enders);
	return 0;
}

/* Sets the holders of all waits. 0 or -ENOMEM. */
static int find_enders(struct profile *p)
{
	struct profile_internals *in = p->in;
	struct ender *enders;
	size_t n;
	int r = list_enders(p, &enders, &n);

	for (size_t i = 0; i < in->n_waits; i++) {
		struct profile_wait *w = &in->waits[i];
		const struct ender key = {.time = w->wait.time, .tid = w->wait.tid}, *found = NULL;

		if (n && w->wait.end == PCCE_ENDED_BY_HOLDER)
			found = bsearch(&key, enders, n, sizeof(key), compare_enders);
		w->holder = found ? found->sample : UINT32_MAX;
	}
	free(enders);
	return r;
}

static uint32_t add_link_name(struct profile *p, uint32_t parent, const char *name)
{
	struct cct_key key = {
		.kind = DECODE_FRAME_ORIGIN,
		.module = UINT32_MAX,
		.func = PCCE_NONE,
		.name = symbol_table_intern(p->names, name),
	};

	return parent == UINT32_MAX || key.name == UINT32_MAX
		       ? UINT32_MAX
		       : cct_child(&p->in->all, parent, &key);
}

/* Returns the node where a context ends: that the thread is in the kernel is known. */
static uint32_t user_node(const struct cct *t, uint32_t node)
{
	while (node && t->nodes[node].key->flags & CCT_KERNEL)
		node = t->nodes[node].parent;
	return node;
}

/* Adds the path to a node below another one. Returns its end; UINT32_MAX: no memory. */
static uint32_t add_other_path(struct cct *t, uint32_t parent, uint32_t node)
{
	uint32_t *path = NULL;
	size_t n = 0;

	for (; node && parent != UINT32_MAX; node = t->nodes[node].parent) {
		if (array_grow(&path, n, sizeof(*path)))
			parent = UINT32_MAX;
		else
			path[n++] = node;
	}
	while (n-- > 0 && parent != UINT32_MAX)
		parent = cct_child_of(t, parent, t->nodes[path[n]].key);
	free(path);
	return parent;
}

/* Makes the instruction of a link. 0 or -ENOMEM. */
static int make_link(const struct linking *l, struct linked *link, const struct pcce_wait *w)
{
	struct profile_internals *in = l->p->in;
	const bool alone = link->to > NOT_HERE - 1 - PCCE_ENDED_MAX;
	const struct profile_instruction from = in->instructions[link->from],
					 to = in->instructions[alone ? link->from : link->to];
	uint32_t node = add_link_name(l->p, user_node(&in->all, from.node),
				      link->holder ? "[ended a wait of]" : "[ended by]");
	struct decode_cache_meaning m = {
		.place = to.place,
		.context = from.context,
		.depth = from.depth + 1 + (alone ? 1 : to.depth),
		.entries = from.entries,
		.origin = from.origin,
		.status = from.status == DECODE_EXACT ? to.status : from.status,
		.reason = from.status == DECODE_EXACT ? to.reason : from.reason,
		.verify = from.verify,
		.restored = from.restored,
	};

	if (alone)
		m.node = add_link_name(l->p, node, profile_wait_end(w->end));
	else
		m.node = node == UINT32_MAX
				 ? node
				 : add_other_path(&in->all, node, user_node(&in->all, to.node));
	link->link = (uint32_t)in->n_instructions;
	return m.node == UINT32_MAX ? -ENOMEM : profile_keep_instruction(l->p, &m, l->lines);
}

/* Lets a sample continue with the instruction of the other one. 0 or -ENOMEM. */
static int link_sample(struct linking *l, size_t sample, uint32_t from, uint32_t to, bool holder,
		       const struct pcce_wait *w)
{
	struct linked key = {.from = from, .to = to, .holder = holder};
	struct linked *slot = linked_table_slot(&l->table, NULL, hash_linked(&key) + holder, &key);
	int r;

	if (!slot)
		return -ENOMEM;
	if (!slot->link) {
		r = make_link(l, &key, w);
		if (r)
			return r;
		linked_table_fill(&l->table, slot, key);
	}
	l->p->in->instruction[sample] = slot->link;
	return 0;
}

static int link_waits(struct profile *p, const struct decode_cache *lines)
{
	struct profile_internals *in = p->in;
	struct linking l = {.p = p, .lines = lines};
	int r = 0;

	for (size_t i = 0; i < in->n_waits && !r; i++) {
		const struct profile_wait *w = &in->waits[i];
		uint32_t other = w->holder, from = in->instruction[w->sample], to;

		if (other == UINT32_MAX) {
			uint32_t end = w->wait.end <= PCCE_ENDED_MAX ? w->wait.end : 0;

			r = link_sample(&l, w->sample, from, NOT_HERE - end, false, &w->wait);
			continue;
		}
		to = in->instruction[other];
		r = link_sample(&l, w->sample, from, to, false, &w->wait);
		if (!r)
			r = link_sample(&l, other, to, from, true, &w->wait);
	}
	linked_table_free(&l.table);
	return r;
}

int profile_link_waits(struct profile *p, const struct decode_cache *lines)
{
	int r = p->in->n_waits ? find_enders(p) : 0;

	return r || !p->in->link_waits ? r : link_waits(p, lines);
}

const char *profile_wait_end(uint32_t end)
{
	static const char *const names[] = {
		[PCCE_ENDED_BY_HOLDER] = "[its sample was lost, or is not selected]",
		[PCCE_ENDED_ALONE] = "[no holder: a timeout, a signal or a requeue]",
		[PCCE_ENDED_OUTSIDE] = "[a process that is not recorded]",
		[PCCE_ENDED_NEVER] = "[nobody: it still waits when the recording ends]",
	};

	return names[end <= PCCE_ENDED_MAX ? end : PCCE_ENDED_BY_HOLDER];
}

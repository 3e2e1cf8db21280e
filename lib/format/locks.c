/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints who blocks whom: two lines for each pair of a context that waited for a futex and a
 * context that ended such waits, the longest time first:
 *
 *       waited   share     waits
 *     217.2 ms   26.7%        98  waiter → want → pthread_mutex_lock
 *                                 holder → give → pthread_mutex_unlock
 *
 * The number of waits is estimated: a sample of t ticks, of a wait of n ns, counts as t periods / n
 * waits. A wait of n ns has n / period ticks on average, so the mean of the sums is the true
 * number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "base/text.h"
#include "format/format.h"

/* What the second line says if it is no context, behind all nodes of a tree. */
#define NO_HOLDER (UINT32_MAX - 1 - PCCE_ENDED_MAX)

struct pair {
	uint32_t waiter, holder; /* nodes of the merged tree; a holder may be NO_HOLDER + reason */
	char *texts[2];		 /* of both */
	uint64_t ns;
	double waits;
};

HASH_TABLE_TYPE(pair_table, uint32_t);

struct pairs {
	const struct profile *p;
	struct cct tree;
	uint32_t *merged; /* by node of the profile's tree */
	struct pair *list;
	size_t n;
	struct pair_table table; /* index + 1 */
	uint64_t ns, named;
	double waits;
};

static uint64_t hash_waiting_pair(const struct pair *p)
{
	uint64_t h = ((uint64_t)p->waiter << 32 | p->holder) * 0x9e3779b97f4a7c15ULL;

	return h ^ h >> 29;
}

HASH_TABLE_FUNCTIONS(pair_table, uint32_t, struct pair, struct pairs, *s,
		     hash_waiting_pair(&o->list[*s - 1]),
		     o->list[*s - 1].waiter == key->waiter &&
			     o->list[*s - 1].holder == key->holder);

static int compare_pair_texts(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int r = strcmp(x->texts[0], y->texts[0]);

	return r ? r : strcmp(x->texts[1], y->texts[1]);
}

static int longest_first(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return compare_pair_texts(a, b);
}

/* Returns the node of the merged tree where a context ends. That the thread is in the kernel is
 * known. */
static uint32_t context_of(const struct pairs *all, uint32_t node)
{
	const struct cct *t = &all->p->tree;

	while (node && t->nodes[node].key->flags & CCT_KERNEL)
		node = t->nodes[node].parent;
	return all->merged[node];
}

static int add_wait(struct pairs *all, const struct profile_sample *s, const struct pcce_wait *w,
		    uint32_t holder)
{
	struct pair key = {.waiter = context_of(all, s->node),
			   .holder = holder == UINT32_MAX ? NO_HOLDER + w->end
							  : context_of(all, holder)},
		    *pair;
	uint32_t *slot = pair_table_slot(&all->table, all, hash_waiting_pair(&key), &key);
	char name[256];
	uint64_t period, ns;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (array_grow(&all->list, all->n, sizeof(*all->list)))
			return -ENOMEM;
		all->list[all->n++] = key;
		pair_table_fill(&all->table, slot, (uint32_t)all->n);
		slot = pair_table_find(&all->table, all, hash_waiting_pair(&key), &key);
	}
	pair = &all->list[*slot - 1];
	period = format_event_unit(all->p, s->event,
				   profile_event(all->p, s->event, name, sizeof(name)))
			 .scale;
	ns = s->weight * period;
	pair->ns += ns;
	pair->waits += (double)ns / (double)(w->ns ? w->ns : 1);
	all->ns += ns;
	all->waits += (double)ns / (double)(w->ns ? w->ns : 1);
	if (key.holder < NO_HOLDER)
		all->named += ns;
	return 0;
}

/* A context in one line. NULL: no memory. */
static char *context_text(const struct pairs *all, uint32_t node, unsigned int most)
{
	return node >= NO_HOLDER ? strdup(profile_wait_end(node - NO_HOLDER))
				 : format_chain(all->p, &all->tree, node, most);
}

/* Adds up pairs of the same text: they differ in how the encoding stack has counted calls. */
static int join_texts(struct pairs *all, unsigned int most)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct pair *p = &all->list[i];

		p->texts[0] = context_text(all, p->waiter, most);
		p->texts[1] = context_text(all, p->holder, most);
		if (!p->texts[0] || !p->texts[1])
			return -ENOMEM;
	}
	if (all->n)
		qsort(all->list, all->n, sizeof(*all->list), compare_pair_texts);
	for (size_t i = 0; i < all->n; i++) {
		struct pair *p = &all->list[i], *to = n ? &all->list[n - 1] : NULL;

		if (!to || compare_pair_texts(to, p)) {
			struct pair moved = *p;

			p->texts[0] = p->texts[1] = NULL;
			all->list[n++] = moved;
			continue;
		}
		to->ns += p->ns;
		to->waits += p->waits;
		free(p->texts[0]);
		free(p->texts[1]);
		p->texts[0] = p->texts[1] = NULL;
	}
	all->n = n;
	if (n)
		qsort(all->list, n, sizeof(*all->list), longest_first);
	return 0;
}

/* ---- output ------------------------------------------------------------------------ */

static int collect(struct pairs *all, unsigned int most)
{
	int r = cct_merge_map(&all->p->tree, CCT_MERGE_NAMES, &all->tree, &all->merged);

	for (size_t i = 0; i < profile_samples(all->p) && !r; i++) {
		uint32_t holder;
		const struct pcce_wait *w = profile_sample_wait(all->p, i, &holder);
		struct profile_sample s;

		if (!w)
			continue;
		s = profile_sample(all->p, i);
		r = add_wait(all, &s, w, holder);
	}
	return r ? r : join_texts(all, most);
}

static void print_time(uint64_t ns, FILE *out)
{
	if (ns < 10000000)
		fprintf(out, "%9.1f µs", (double)ns / 1e3);
	else if (ns < 10000000000)
		fprintf(out, "%9.1f ms", (double)ns / 1e6);
	else
		fprintf(out, "%9.1f s ", (double)ns / 1e9);
}

static void print_pairs(const struct pairs *all, const struct format_options *o, FILE *out)
{
	size_t i;

	fputs("      waited   share      waits  who waited, and below who ended it\n", out);
	for (i = 0; i < all->n; i++) {
		const struct pair *p = &all->list[i];
		double share = text_percent(p->ns, all->ns);

		if (share < o->min_percent)
			break;
		print_time(p->ns, out);
		fprintf(out, "  %5.1f%%  %9.0f  ", share, p->waits);
		fprintf(out, "%s\n%33s%s\n", p->texts[0], "", p->texts[1]);
	}
	if (i < all->n)
		fprintf(out, "%33s[%zu more, each below %g%%]\n", "", all->n - i, o->min_percent);
	if (!all->n)
		return;
	print_time(all->ns, out);
	fprintf(out, "  100.0%%  %9.0f  all; who ended them is known for %.1f%% of the time\n",
		all->waits, text_percent(all->named, all->ns));
}

int format_locks(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct pairs all = {.p = p};
	int r = collect(&all, o->max_depth);

	if (!r && !all.n)
		format_remark(o,
			      "no selected sample is of a wait for a lock, or it does not say who "
			      "ended it; record with -e lock");
	if (!r)
		print_pairs(&all, o, out);
	cct_free(&all.tree);
	free(all.merged);
	for (size_t i = 0; i < all.n; i++) {
		free(all.list[i].texts[0]);
		free(all.list[i].texts[1]);
	}
	free(all.list);
	pair_table_free(&all.table);
	return r;
}

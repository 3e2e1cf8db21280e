// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Decides which bursts are counted: adaptive bursting (Zhuang, Serrano, Cain, Choi: "Accurate,
 * efficient, and adaptive calling context profiling", PLDI 2006).
 *
 * A burst of a thread begins with its first call while the counting is on. Bursts that begin in one
 * context mostly go on alike. So the first one is counted, and of those that follow only one of
 * `every`: the re-enabling ratio is 1 / every. Its calls have the weight `every`. Where this
 * begins, among the first `every`, is as good as random, so each burst is counted once in the mean.
 *
 * Each thread remembers the contexts in which bursts have begun, in a table of fixed size. Two
 * contexts with one slot replace each other. A context that was replaced is a new one when it
 * comes again, and what was skipped is not made up for.
 */
#include "count/engine.h"

#define BEGUN_LOG 10

/* A context in which bursts have begun. */
struct begun {
	uint64_t node_and_place, id, ext;
	uint64_t skipped; /* after the last one that was counted; at first a random number */
};

uint32_t weigh_burst(struct thread *t, const struct pcce_page *p, const struct pcce_count_node *n,
		     uint32_t place)
{
	uint64_t first = (uint64_t)place << 32 | unit_number(n);
	uint64_t hash = hash_counter(first, p->id, p->ext);
	struct begun *begun = t->begun, *b;

	if (!begun)
		t->begun = begun = take_memory(sizeof(*b) << BEGUN_LOG);
	if (!begun)
		return 1;
	b = &begun[hash >> (64 - BEGUN_LOG)];
	if (b->node_and_place != first || b->id != p->id || b->ext != p->ext) {
		hash = (hash ^ t->burst) * 0x9e3779b97f4a7c15ULL;
		*b = (struct begun){first, p->id, p->ext, (hash >> 32) % config.every};
		return 1;
	}
	if (++b->skipped < config.every) {
		__atomic_add_fetch(&area()->skipped, 1, __ATOMIC_RELAXED);
		return 0;
	}
	b->skipped = 0;
	return (uint32_t)config.every;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Adds up what is live in each context, and remembers what was live when the process had most.
 *
 * The peak is exact, and costs no more if there are many contexts. A new maximum of the live bytes
 * begins a generation. A counter that changes for the first time in a generation first keeps what
 * it had, which is what it had at the maximum. A counter that has not changed still has it.
 *
 * One lock protects all this. It is in the ring, which a child shares if it could make none.
 */
#include "malloc/live.h"

static struct pcce_self_counter *open_ledger(struct pcce_allocation_sums of, uint32_t counter)
{
	struct pcce_self_ledger *ledger = &of.ring->ledger;
	struct pcce_self_counter *c = &of.counters[counter - 1];

	if (!live_lock(of, &ledger->lock)) {
		live_lose(of);
		return NULL;
	}
	if (c->generation != ledger->generation) {
		c->peak_samples = c->live_samples;
		c->peak_bytes = c->live_bytes;
		c->generation = ledger->generation;
	}
	return c;
}

void ledger_add(struct pcce_allocation_sums to, struct allocation a)
{
	struct pcce_self_ledger *ledger = &to.ring->ledger;
	struct pcce_self_counter *c = open_ledger(to, a.counter);

	if (!c)
		return;
	c->live_samples++;
	c->live_bytes += a.bytes;
	ledger->bytes += a.bytes;
	if (ledger->bytes > ledger->peak) {
		ledger->peak = ledger->bytes;
		ledger->generation++;
	}
	live_unlock(&ledger->lock);
}

void ledger_subtract(struct pcce_allocation_sums from, struct allocation a, bool temporary)
{
	struct pcce_self_ledger *ledger = &from.ring->ledger;
	struct pcce_self_counter *c = open_ledger(from, a.counter);

	if (!c)
		return;
	c->live_samples--;
	c->live_bytes -= a.bytes;
	if (temporary) {
		c->temporary_samples++;
		c->temporary_bytes += a.bytes;
	}
	ledger->bytes -= a.bytes;
	live_unlock(&ledger->lock);
}

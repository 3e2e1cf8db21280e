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
#include "self/self.h"

static struct pcce_self_counter *open_ledger(struct pcce_thread *t, uint32_t counter)
{
	struct ring *ring = &self_state.ring;
	struct pcce_self_ledger *ledger = &ring->head->ledger;
	struct pcce_self_counter *c = &ring->counters[counter - 1];

	if (!live_lock(t, &ledger->lock)) {
		live_lose();
		return NULL;
	}
	if (c->generation != ledger->generation) {
		c->peak_samples = c->live_samples;
		c->peak_bytes = c->live_bytes;
		c->generation = ledger->generation;
	}
	return c;
}

void ledger_add(struct pcce_thread *t, struct pcce_allocation a)
{
	struct pcce_self_ledger *ledger = &self_state.ring.head->ledger;
	struct pcce_self_counter *c = open_ledger(t, a.counter);

	if (!c)
		return;
	c->live_samples++;
	c->live_bytes += a.bytes;
	ledger->bytes += a.bytes;
	if (ledger->bytes > ledger->peak) {
		ledger->peak = ledger->bytes;
		ledger->generation++;
	}
	live_unlock(t, &ledger->lock);
}

void ledger_subtract(struct pcce_thread *t, struct pcce_allocation a, bool temporary)
{
	struct pcce_self_ledger *ledger = &self_state.ring.head->ledger;
	struct pcce_self_counter *c = open_ledger(t, a.counter);

	if (!c)
		return;
	c->live_samples--;
	c->live_bytes -= a.bytes;
	if (temporary) {
		c->temporary_samples++;
		c->temporary_bytes += a.bytes;
	}
	ledger->bytes -= a.bytes;
	live_unlock(t, &ledger->lock);
}

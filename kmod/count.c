// SPDX-License-Identifier: GPL-2.0
/*
 * Counts samples of equal states in places.
 *
 * pcce/places.h describes the protocol, and has the logic, which the BPF program has, too. The
 * places are memory that user space can only read: what a handler finds there, an earlier handler
 * on this CPU has written. User space writes the classes of addresses, and the claims that it
 * refuses. Any value there is allowed, and may change at any moment: a class is only an input of a
 * hash, and a refusal is only compared.
 *
 * This takes no lock, and its work is bounded: four elements of the array of addresses, a hash of
 * at most PCCE_SEGMENT_ENTRIES entries, and two places. Handlers on one CPU never nest (busy).
 */
#include "count.h"

/* Returns 0 if user space has not told it. */
static u64 class_of_address(const struct pcce_session *s, u32 pid, u64 address, u32 *epoch)
{
	const struct pcce_address *a = &s->addresses[pcce_address_index(pid, address)];
	u64 class = pcce_read_class(a, pid, address, epoch);

	return class ? class : pcce_read_class(a + 1, pid, address, epoch);
}

bool pcce_count_sample(const struct pcce_session *s, struct pcce_cpu *c, struct pcce_sample *sample,
		       const struct pcce_entry *entries, struct pcce_claim *claim)
{
	bool only_refused = s->config.flags & PCCE_KMOD_COUNT_REFUSED;
	u32 index, no_epoch, epoch = 0;
	u64 state[2], ip, kip = 0;

	claim->place = PCCE_NO_PLACE;
	if (!pcce_can_be_counted(sample))
		return false;
	ip = class_of_address(s, sample->pid, sample->ip, &epoch);
	/* For a decision, the function in the kernel does not matter. */
	if (sample->kip)
		kip = only_refused ? 1 : class_of_address(s, 0, sample->kip, &no_epoch);
	if (!ip || !kip != !sample->kip)
		return false;
	sample->event = epoch;
	pcce_make_state(sample, entries, ip, kip, state);
	index = pcce_place_index(state, s->config.places - 1);
	if (!pcce_take_sample(&c->places[index], index, &c->refused[index], 1, only_refused, state,
			      sample, claim))
		return false;
	c->samples++;
	c->counted++;
	return true;
}

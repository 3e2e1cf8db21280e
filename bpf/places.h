/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counts samples of equal states in the kernel, as a part of the BPF program (pcce/places.h). */
#ifndef PCCE_BPF_PLACES_H
#define PCCE_BPF_PLACES_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include <pcce/places.h>
#include "bpf/sampler.h"

/* Keeps the compiler from removing or moving a check that only the verifier needs. */
#define opaque(x) asm volatile("" : "+r"(x))

/* The recorder sets these before loading. */
const volatile __u32 count_contexts; /* enum sampler_count */
const volatile __u32 place_mask = 1; /* places of a CPU, less 1 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the recorder sets both: CPUs, and all places of one */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, PCCE_PLACES_MIN * sizeof(struct pcce_place));
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the recorder sets it: PCCE_ADDRESSES */
	__type(key, __u32);
	__type(value, struct pcce_address);
} addresses SEC(".maps");

/* A record of the ring, with all entries that it may have. */
struct counted_record {
	struct pcce_claim claim;
	struct pcce_sample sample;
	struct pcce_entry entry[PCCE_SEGMENT_ENTRIES];
};

/* Returns 0 if the reader has not told it. */
static __always_inline __u64 find_class(__u32 pid, __u64 address, __u32 *epoch)
{
	__u32 index = pcce_address_index(pid, address);
	const struct pcce_address *a = bpf_map_lookup_elem(&addresses, &index);
	__u64 class = a ? pcce_read_class(a, pid, address, epoch) : 0;

	if (class)
		return class;
	index++;
	a = bpf_map_lookup_elem(&addresses, &index);
	return a ? pcce_read_class(a, pid, address, epoch) : 0;
}

/*
 * Returns 1 if the sample is counted. Otherwise the record goes through the ring; its claim and the
 * event of its sample are filled in.
 *
 * Not static, so the verifier follows it once, and not once for each path to it.
 */
__noinline int count_sample(struct counted_record *r)
{
	__u32 cpu = bpf_get_smp_processor_id(), index, no_epoch, epoch = 0;
	struct pcce_place *p;
	__u64 state[2], ip, kip = 0;

	if (!r)
		return 0;
	r->claim.place = PCCE_NO_PLACE;
	if (!pcce_can_be_counted(&r->sample))
		return 0;
	ip = find_class(r->sample.pid, r->sample.ip, &epoch);
	/* For a decision, the function in the kernel does not matter. */
	if (r->sample.kip && count_contexts == SAMPLER_COUNT_REFUSED)
		kip = 1;
	else if (r->sample.kip)
		kip = find_class(0, r->sample.kip, &no_epoch);
	p = bpf_map_lookup_elem(&places, &cpu);
	if (!ip || !kip != !r->sample.kip || !p)
		return 0;
	r->sample.event = epoch;
	pcce_make_state(&r->sample, r->entry, ip, kip, state);
	index = pcce_place_index(state, place_mask);
	p += index;
	return pcce_take_sample(p, index, &p->refused, sizeof(*p) / sizeof(p->refused),
				count_contexts == SAMPLER_COUNT_REFUSED, state, &r->sample,
				&r->claim);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts samples of equal states in the kernel, as a part of the BPF program (see sampler.h).
 *
 * A state can have two places, which its hash names. If one of them has it, the sample is counted
 * there. Otherwise the state may claim the one with the lower credit. A place gets credit by each
 * sample that it counts, and loses it by each other sample that would like to have it. So frequent
 * states keep their places.
 *
 * If only refused states are counted, each other state has its place for a while only.
 */
#ifndef PCCE_BPF_PLACES_H
#define PCCE_BPF_PLACES_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

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
	__uint(value_size, SAMPLER_PLACES_MIN * sizeof(struct sampler_place));
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the recorder sets it: SAMPLER_ADDRESSES */
	__type(key, __u32);
	__type(value, struct sampler_address);
} addresses SEC(".maps");

/* A record of the ring, with all entries that it may have. */
struct counted_record {
	struct sampler_claim claim;
	struct pcce_sample sample;
	struct pcce_entry entry[PCCE_SEGMENT_ENTRIES];
};

/* Returns 0 if the element is not of this address, or changes now. */
static __always_inline __u64 read_class(const struct sampler_address *a, __u32 pid, __u64 address,
					__u32 *epoch)
{
	__u32 seq = *(volatile __u32 *)&a->seq;
	__u64 class;

	if (seq & 1 || *(volatile __u64 *)&a->address != address ||
	    *(volatile __u32 *)&a->pid != pid)
		return 0;
	class = *(volatile __u64 *)&a->class;
	*epoch = *(volatile __u32 *)&a->epoch;
	return *(volatile __u32 *)&a->seq == seq ? class : 0;
}

/* Returns 0 if the reader has not told it. */
static __always_inline __u64 find_class(__u32 pid, __u64 address, __u32 *epoch)
{
	__u32 index = sampler_address_index(pid, address);
	const struct sampler_address *a = bpf_map_lookup_elem(&addresses, &index);
	__u64 class = a ? read_class(a, pid, address, epoch) : 0;

	if (class)
		return class;
	index++;
	a = bpf_map_lookup_elem(&addresses, &index);
	return a ? read_class(a, pid, address, epoch) : 0;
}

/* Four sums that do not wait for each other: of x, of y, and of both with other factors. */
struct hash {
	__u64 a, b, c, d;
};

static __always_inline void sum_words(struct hash *h, __u64 x, __u64 y)
{
	h->a = (h->a + x) * 0x9e3779b97f4a7c15ULL;
	h->b = (h->b + y) * 0xff51afd7ed558ccdULL;
	h->c = (h->c + x) * 0xc4ceb9fe1a85ec53ULL;
	h->d = (h->d + y) * 0xd6e8feb86659fd93ULL;
}

static __always_inline __u64 mix_sums(__u64 x, __u64 y)
{
	x = (x ^ (x >> 32)) * 0xff51afd7ed558ccdULL + ((y << 23) | (y >> 41));
	return (x ^ (x >> 29)) * 0x9e3779b97f4a7c15ULL;
}

/* ip and kip: classes */
static __always_inline void make_state(const struct counted_record *r, __u64 ip, __u64 kip,
				       __u64 state[2])
{
	const struct pcce_sample *s = &r->sample;
	struct hash h = {ip, kip, kip, ip};
	__u32 i, n = *(volatile __u32 *)&s->n_entries;

	sum_words(&h, s->id, s->ext);
	sum_words(&h, s->below, (__u64)s->pid << 32 | s->tid);
	sum_words(&h, (__u64)s->flags << 32 | n, (__u64)s->n_below << 32 | s->event);
	for (i = 0; i < PCCE_SEGMENT_ENTRIES; i++) {
		if (i >= n)
			break;
		sum_words(&h, r->entry[i].id, r->entry[i].site);
	}
	state[0] = mix_sums(h.a, h.b) | 1; /* not that of a free place */
	state[1] = mix_sums(h.c, h.d);
}

static __always_inline void claim_place(struct sampler_place *p, __u32 index, const __u64 state[2],
					struct sampler_claim *claim)
{
	claim->weight = p->weight;
	claim->last = p->last;
	claim->samples = p->samples;
	p->claims = (p->claims + 1) & (SAMPLER_CLAIMS - 1);
	claim->place = p->claims << SAMPLER_PLACE_BITS | index;
	p->state[0] = state[0];
	p->state[1] = state[1];
	/* So the state keeps the place until the reader has decided. */
	if (count_contexts == SAMPLER_COUNT_REFUSED)
		p->credit = SAMPLER_CREDIT_MAX;
}

static __always_inline void count_in_place(struct sampler_place *p, const struct pcce_sample *s)
{
	__u32 seq = p->seq;

	*(volatile __u32 *)&p->seq = seq + 1;
	barrier();
	p->samples++;
	p->weight += s->weight;
	p->last = s->time;
	barrier();
	*(volatile __u32 *)&p->seq = seq + 2;
	p->credit += p->credit < SAMPLER_CREDIT_MAX;
}

static __always_inline bool has_state(const struct sampler_place *p, const __u64 state[2])
{
	return p->state[0] == state[0] && p->state[1] == state[1];
}

static __always_inline bool may_count(const struct sampler_place *p)
{
	return count_contexts != SAMPLER_COUNT_REFUSED ||
	       *(volatile __u32 *)&p->refused == p->claims + 1;
}

/* Whether all is known that the context of a sample depends on. */
static __always_inline bool can_be_counted(const struct pcce_sample *s)
{
	return !(s->flags & (PCCE_SAMPLE_TRUNCATED | PCCE_SAMPLE_READ_FAULT)) && s->pid && s->tid &&
	       (s->below || !s->n_below);
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
	struct sampler_place *p;
	__u64 state[2], ip, kip = 0;

	if (!r)
		return 0;
	r->claim.place = SAMPLER_NO_PLACE;
	if (!can_be_counted(&r->sample))
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
	make_state(r, ip, kip, state);
	index = (__u32)(state[0] >> 32) & place_mask & ~1u;
	p += index;
	if (has_state(p, state) || has_state(p + 1, state)) {
		if (!has_state(p, state))
			p++;
		if (r->sample.n_segments || !may_count(p)) /* which no other sample brings */
			return 0;
		count_in_place(p, &r->sample);
		return 1;
	}
	if (p->credit > p[1].credit) {
		p++;
		index++;
	}
	if (p->credit)
		p->credit--;
	else
		claim_place(p, index, state, &r->claim);
	return 0;
}

#endif

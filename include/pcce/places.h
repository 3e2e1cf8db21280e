/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines how a sampler in the kernel counts samples (pcce-record --hot and --only). The BPF
 * program, the kernel module and lib/sampler include this file.
 *
 * Each CPU has a table of places. A place counts samples of one state: samples with equal state
 * have one context. Such a sample adds to the place, and writes nothing to the ring. All other
 * samples go through the ring.
 *
 * A sample that goes through the ring may claim a place, if its state can be counted. Its record
 * says so, and says what the place had counted when it was claimed. Counters are never reset, so
 * the reader attributes each increment to the state that had the place at that time. It reads all
 * counters of a CPU before it reads the head of its ring. A counter that is then above what the
 * last claim says belongs to that claim; otherwise the claim came later.
 *
 * A state is all that a context depends on, entries and thread included, as 128 bits of hash: as
 * many as the recorder's keys of contexts have. It contains the class of the instruction pointer in
 * place of the pointer. Instructions whose samples mean the same have the same class, for example
 * most of a function. Only the reader can know classes, so it tells the sampler, in the array of
 * addresses. Samples at an address without a class go through the ring, and the reader then adds
 * it. `seq` is odd while the reader writes an element. A class is true in its epoch only, which is
 * a part of the state, too (lib/filter/hot.h). In such a recording, a record's field event is the
 * epoch.
 *
 * A state can have two places, which its hash names. If one of them has it, the sample is counted
 * there. Otherwise the state may claim the one with the lower credit. A place gets credit by each
 * sample that it counts, and loses it by each other sample that would like to have it. So frequent
 * states keep their places.
 *
 * With --only, only refused states are counted: the reader decides about each claim. If it refuses
 * one, it stores the number of the claim for the place. From then on, samples of that state only
 * count. All others go through the ring, and each has its place for a while only. A place that has
 * another state in the meantime has another number.
 *
 * The sampler is the only writer of places, in one sample at a time on each CPU. It believes
 * nothing that the reader writes: a wrong class or refusal makes counts wrong, and nothing else.
 * x86 keeps the order of a CPU's stores and of its loads, so compiler barriers suffice.
 */
#ifndef PCCE_PLACES_H
#define PCCE_PLACES_H

#include <pcce/abi.h>

#define PCCE_PLACES_MAX 4096u /* of a CPU; a power of two */
#define PCCE_PLACES_MIN 2u
#define PCCE_ADDRESSES (1u << 14)
#define PCCE_NO_PLACE 0xffffffffu
#define PCCE_CREDIT_MAX 15
/* A claim's field place has a place in these bits, and above them the number of the claim. */
#define PCCE_CLAIM_SHIFT 12
#define PCCE_CLAIMS (1u << 19) /* numbers of claims are modulo this */

/* Written by the reader. */
struct pcce_address {
	__u32 seq;
	__u32 pid; /* in the recorder's pid namespace; 0: of the kernel */
	__u64 address;
	__u64 class;
	__u32 epoch;
	__u32 reserved;
};

struct pcce_place {
	__u64 state[2]; /* 0: free */
	__u64 weight, last;
	__u32 seq;     /* odd while weight, last and samples change */
	__u32 samples; /* modulo 2^32 */
	__u32 credit;  /* samples of other states that it survives */
	__u32 claims;  /* number of the last claim */
	/* Of the BPF program, written by the reader: 1 + number of the claim that it refused last.
	 * The module has these in an array of their own (pcce/kmod.h). */
	__u32 refused;
	__u32 reserved1;
	__u64 reserved2;
};

struct pcce_claim {
	__u64 weight, last; /* of the place when it was claimed */
	__u32 samples;
	__u32 place; /* with the number of the claim; PCCE_NO_PLACE: the sample claims none */
};

PCCE_ASSERT_SIZE(pcce_address, 32);
PCCE_ASSERT_OFFSET(pcce_address, epoch, 24);
PCCE_ASSERT_SIZE(pcce_place, 64);
PCCE_ASSERT_OFFSET(pcce_place, seq, 32);
PCCE_ASSERT_OFFSET(pcce_place, refused, 48);
PCCE_ASSERT_SIZE(pcce_claim, 24);
PCCE_ASSERT_OFFSET(pcce_claim, place, 20);
PCCE_STATIC_ASSERT(PCCE_PLACES_MAX <= 1u << PCCE_CLAIM_SHIFT &&
			   (__u64)PCCE_CLAIMS << PCCE_CLAIM_SHIFT < PCCE_NO_PLACE,
		   "the place and the number do not fit into the field of a claim");

#define PCCE_PLACES_INLINE __attribute__((always_inline)) static __inline__
#define PCCE_PLACES_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define PCCE_PLACES_BARRIER() __asm__ volatile("" ::: "memory")

/* The first of two elements of an address in the array; the second one is next to it. */
PCCE_PLACES_INLINE __u32 pcce_address_index(__u32 pid, __u64 address)
{
	__u64 h = (address ^ pid * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return (__u32)(h >> 40) & (PCCE_ADDRESSES - 2);
}

/* ---- the sampler's part: of one sample ----------------------------------------------- */

/* Returns 0 if the element is not of this address, or changes now. */
PCCE_PLACES_INLINE __u64 pcce_read_class(const struct pcce_address *a, __u32 pid, __u64 address,
					 __u32 *epoch)
{
	__u32 seq = PCCE_PLACES_ONCE(a->seq);
	__u64 class;

	if (seq & 1 || PCCE_PLACES_ONCE(a->address) != address || PCCE_PLACES_ONCE(a->pid) != pid)
		return 0;
	class = PCCE_PLACES_ONCE(a->class);
	*epoch = PCCE_PLACES_ONCE(a->epoch);
	return PCCE_PLACES_ONCE(a->seq) == seq ? class : 0;
}

/* Four sums that do not wait for each other: of x, of y, and of both with other factors. */
struct pcce_state_sums {
	__u64 a, b, c, d;
};

PCCE_PLACES_INLINE void pcce_sum_words(struct pcce_state_sums *h, __u64 x, __u64 y)
{
	h->a = (h->a + x) * 0x9e3779b97f4a7c15ULL;
	h->b = (h->b + y) * 0xff51afd7ed558ccdULL;
	h->c = (h->c + x) * 0xc4ceb9fe1a85ec53ULL;
	h->d = (h->d + y) * 0xd6e8feb86659fd93ULL;
}

PCCE_PLACES_INLINE __u64 pcce_mix_sums(__u64 x, __u64 y)
{
	x = (x ^ (x >> 32)) * 0xff51afd7ed558ccdULL + ((y << 23) | (y >> 41));
	return (x ^ (x >> 29)) * 0x9e3779b97f4a7c15ULL;
}

/* ip and kip: classes. The sample's event is the epoch. */
PCCE_PLACES_INLINE void pcce_make_state(const struct pcce_sample *s, const struct pcce_entry *entry,
					__u64 ip, __u64 kip, __u64 state[2])
{
	struct pcce_state_sums h = {ip, kip, kip, ip};
	__u32 i, n = PCCE_PLACES_ONCE(s->n_entries);

	pcce_sum_words(&h, s->id, s->ext);
	pcce_sum_words(&h, s->below, (__u64)s->pid << 32 | s->tid);
	pcce_sum_words(&h, (__u64)s->flags << 32 | n, (__u64)s->n_below << 32 | s->event);
	for (i = 0; i < PCCE_SEGMENT_ENTRIES; i++) {
		if (i >= n)
			break;
		pcce_sum_words(&h, entry[i].id, entry[i].site);
	}
	state[0] = pcce_mix_sums(h.a, h.b) | 1; /* not that of a free place */
	state[1] = pcce_mix_sums(h.c, h.d);
}

/* Whether all is known that the context of a sample depends on. */
PCCE_PLACES_INLINE int pcce_can_be_counted(const struct pcce_sample *s)
{
	return !(s->flags & (PCCE_SAMPLE_TRUNCATED | PCCE_SAMPLE_READ_FAULT)) && s->pid && s->tid &&
	       (s->below || !s->n_below);
}

PCCE_PLACES_INLINE void pcce_claim_place(struct pcce_place *p, __u32 index, const __u64 state[2],
					 struct pcce_claim *claim)
{
	claim->weight = p->weight;
	claim->last = p->last;
	claim->samples = p->samples;
	p->claims = (p->claims + 1) & (PCCE_CLAIMS - 1);
	claim->place = p->claims << PCCE_CLAIM_SHIFT | index;
	p->state[0] = state[0];
	p->state[1] = state[1];
}

PCCE_PLACES_INLINE void pcce_count_in_place(struct pcce_place *p, const struct pcce_sample *s)
{
	__u32 seq = p->seq;

	*(volatile __u32 *)&p->seq = seq + 1;
	PCCE_PLACES_BARRIER();
	p->samples++;
	p->weight += s->weight;
	p->last = s->time;
	PCCE_PLACES_BARRIER();
	*(volatile __u32 *)&p->seq = seq + 2;
	p->credit += p->credit < PCCE_CREDIT_MAX;
}

PCCE_PLACES_INLINE int pcce_has_state(const struct pcce_place *p, const __u64 state[2])
{
	return p->state[0] == state[0] && p->state[1] == state[1];
}

/* The first place of a state; the second one is next to it. mask: places of a CPU, less 1. */
PCCE_PLACES_INLINE __u32 pcce_place_index(const __u64 state[2], __u32 mask)
{
	return (__u32)(state[0] >> 32) & mask & ~1u;
}

/*
 * Returns 1 if the sample is counted. Otherwise it goes through the ring. If it claims a place, all
 * fields of *claim are set; otherwise none. p: the first place of its state, with this index.
 * refused: what the reader has refused there, and `step` further for the second place.
 * only_refused: samples of all other states go through the ring.
 */
PCCE_PLACES_INLINE int pcce_take_sample(struct pcce_place *p, __u32 index, const __u32 *refused,
					__u32 step, int only_refused, const __u64 state[2],
					const struct pcce_sample *s, struct pcce_claim *claim)
{
	if (pcce_has_state(p, state) || pcce_has_state(p + 1, state)) {
		if (!pcce_has_state(p, state)) {
			p++;
			refused += step;
		}
		if (s->n_segments) /* which no other sample brings */
			return 0;
		if (only_refused && PCCE_PLACES_ONCE(*refused) != p->claims + 1)
			return 0;
		pcce_count_in_place(p, s);
		return 1;
	}
	if (p->credit > p[1].credit) {
		p++;
		index++;
	}
	if (p->credit) {
		p->credit--;
		return 0;
	}
	pcce_claim_place(p, index, state, claim);
	/* So the state keeps the place until the reader has decided. */
	if (only_refused)
		p->credit = PCCE_CREDIT_MAX;
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All samples of a recording in memory, equal ones once.  "Equal" means that they
 * decode alike in the same address space: the registers, the encoding stack and the
 * real stack are the same, whenever and wherever they were taken.
 */
#ifndef PCCE_SAMPLES_H
#define PCCE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>

struct decoded;

/* sample's time, pid, tid, weight, event, cpu, sp and r11 are 0 here (r11 matters in the helpers only). */
struct raw_sample {
	uint64_t hash;
	struct decoded *decoded; /* one for each address space it was met in */
	uint32_t size;		 /* bytes of sample with what follows it */
	uint32_t reserved;
	struct pcce_sample sample; /* then the entries, then the real stack */
};

struct sample {
	struct raw_sample *raw;
	uint64_t time;
	uint64_t r11;
	uint32_t pid, weight;
};

struct samples {
	struct sample *list;
	size_t n, capacity;
	struct raw_sample **slots;
	size_t n_slots, n_raw;
	struct block *blocks;
};

/* s: with its entries and stack behind it. 0 or -ENOMEM. */
int samples_add(struct samples *all, const struct pcce_sample *s);
void samples_free(struct samples *all);

static inline const struct pcce_entry *raw_entries(const struct raw_sample *r)
{
	return (const struct pcce_entry *)(&r->sample + 1);
}

static inline const uint64_t *raw_stack(const struct raw_sample *r)
{
	return (const uint64_t *)(raw_entries(r) + r->sample.n_entries);
}

#endif

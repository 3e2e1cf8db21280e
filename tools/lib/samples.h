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
#include "tools/lib/segments.h"

struct decoded;

/* sample's time, pid, tid, weight, event, cpu, sp, below and r11 are 0 here (r11 matters in the helpers only), and it
 * has no segments: these are in the node. */
struct raw_sample {
	uint64_t hash;
	struct decoded *decoded; /* one for each address space it was met in */
	uint32_t size;		 /* bytes of sample with what follows it */
	uint32_t visited;	 /* late_symbols.c: 0: not yet; 1: looked at; 2 + a space: decoded there */
	const struct segment_node *below;
	struct pcce_sample sample; /* then the entries, then the real stack: sample.h */
};

struct sample {
	union {
		struct raw_sample *raw;
		struct decoded *decoded; /* once profile_decode.c has been here */
	};
	uint64_t time;
	uint64_t r11;
	uint32_t stream, weight;
};

struct samples {
	struct sample *list;
	size_t n, capacity;
	struct raw_sample **slots;
	size_t n_slots, n_raw;
	struct block *blocks;
	struct segments *segments;
};

/* s: with what follows it; the samples of a thread in the order of time; stream: where it comes from (streams.h). 0 or
 * -ENOMEM. */
int samples_add(struct samples *all, const struct pcce_sample *s, uint32_t stream);
void samples_free(struct samples *all);

#endif

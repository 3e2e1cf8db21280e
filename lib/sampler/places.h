/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads what a sampler in the kernel counts in its places, and tells it classes of addresses
 * (pcce/places.h).
 *
 * In this order: places_look() notes all counters, places_claim() takes each record of the rings,
 * and places_take() delivers what the notes say. places_claim() also delivers what the place had
 * counted for its last state.
 */
#ifndef PCCE_SAMPLER_PLACES_H
#define PCCE_SAMPLER_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/abi.h>
#include <pcce/places.h>
#include "sampler/sampler.h"

struct places;

/* What a sampler shares with its reader. */
struct places_memory {
	const struct pcce_place *places; /* of CPU 0, then those of CPU 1, ... */
	uint32_t *refused;		 /* of the first place */
	uint32_t refused_step;		 /* from one place to the next, in words */
	struct pcce_address *addresses;	 /* PCCE_ADDRESSES */
};

/* Receives what a place has counted since the last time. `time` is that of the last such sample. 0
 * or -errno. */
typedef int places_sink(void *ctx, uint64_t time, uint32_t place, uint64_t samples,
			uint64_t weight);

/* How many places each CPU gets, if `wanted` would be best: a power of two. */
uint32_t places_number(int cpus, uint64_t wanted);

/* The memory stays the caller's. NULL: no memory. */
struct places *places_new(const struct places_memory *memory, int cpus, uint32_t number);
void places_free(struct places *p);

void places_look(struct places *p);
/* Takes a record of the ring of its CPU, in their order. claim: NULL if it has none. Fills in *c.
 * 0, or the sink's result; -EPROTO: the record is impossible. */
int places_claim(struct places *p, const struct pcce_sample *s, const struct pcce_claim *claim,
		 places_sink *sink, void *ctx, struct sampler_counting *c);
int places_take(struct places *p, places_sink *sink, void *ctx);

/* With sampler_config.refuse: samples of the state of this claim need not be delivered. */
void places_refuse(struct places *p, uint32_t place, uint32_t claim);
/* Tell whether it knows the class of an address in this epoch, and tell it. pid is 0 for an address
 * of the kernel. */
bool places_has_class(const struct places *p, uint32_t pid, uint64_t address, uint32_t epoch);
void places_set_class(struct places *p, uint32_t pid, uint64_t address, uint64_t class,
		      uint32_t epoch);
/* It has to forget all classes of a process. */
void places_forget_classes(struct places *p, uint32_t pid);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads what the BPF program counts in its places, and tells it classes of addresses
 * (bpf/sampler.h).
 *
 * In this order: bpf_places_look() notes all counters, bpf_places_claim() takes each record of the
 * rings, and bpf_places_take() delivers what the notes say. bpf_places_claim() also delivers what
 * the place had counted for its last state.
 */
#ifndef PCCE_SAMPLER_BPF_PLACES_H
#define PCCE_SAMPLER_BPF_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/abi.h>
#include "bpf/sampler.h"
#include "sampler/sampler.h"

struct bpf_places;

/* Receives what a place has counted since the last time. `time` is that of the last such sample. 0
 * or -errno. */
typedef int bpf_places_sink(void *ctx, uint64_t time, uint32_t place, uint64_t samples,
			    uint64_t weight);

/* How many places each CPU gets, if `wanted` would be best: a power of two. */
uint32_t bpf_places_number(int cpus, uint64_t wanted);

/* Maps the two arrays. 0 or -errno. */
int bpf_places_open(int places_fd, int addresses_fd, int cpus, uint32_t number,
		    struct bpf_places **out);
void bpf_places_close(struct bpf_places *p);

void bpf_places_look(struct bpf_places *p);
/* Takes a record of the ring of its CPU, in their order. Fills in *c. 0, or the sink's result;
 * -EPROTO: the record is impossible. */
int bpf_places_claim(struct bpf_places *p, const struct pcce_sample *s, bpf_places_sink *sink,
		     void *ctx, struct sampler_counting *c);
int bpf_places_take(struct bpf_places *p, bpf_places_sink *sink, void *ctx);

/* See struct sampler_ops. */
void bpf_places_refuse(struct bpf_places *p, uint32_t place, uint32_t claim);
bool bpf_places_has_class(const struct bpf_places *p, uint32_t pid, uint64_t address,
			  uint32_t epoch);
void bpf_places_set_class(struct bpf_places *p, uint32_t pid, uint64_t address, uint64_t class,
			  uint32_t epoch);
void bpf_places_forget_classes(struct bpf_places *p, uint32_t pid);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Maps the places of the BPF program, and its array of addresses. */
#ifndef PCCE_SAMPLER_BPF_PLACES_H
#define PCCE_SAMPLER_BPF_PLACES_H

#include "sampler/places.h"

/* number: places of a CPU. 0 or -errno. */
int bpf_places_map(int places_fd, int addresses_fd, int cpus, uint32_t number,
		   struct places_memory *m);
void bpf_places_unmap(struct places_memory *m, int cpus, uint32_t number);

#endif

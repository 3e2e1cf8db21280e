/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads what the BPF program on_begin() cannot: the segments of threads that wait when the
 * recording of a running process begins, and those that wait for a lock for long. */
#ifndef PCCE_SAMPLER_BPF_WAITS_H
#define PCCE_SAMPLER_BPF_WAITS_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>

/* Passes a sample that only carries segments (PCCE_SAMPLE_CARRIER) for each thread in the map of
 * waits that was noted since a time and has some. Segments that cannot be read are missing. 0,
 * -ENOMEM, or what add() returned. */
int bpf_waits_carry(int waits, uint64_t since, uint64_t time,
		    int (*add)(void *ctx, const struct pcce_sample *s, size_t size), void *ctx);

#endif

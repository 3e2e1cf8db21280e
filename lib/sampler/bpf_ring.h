/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the rings of the BPF program (bpf/sampler.h). */
#ifndef PCCE_SAMPLER_BPF_RING_H
#define PCCE_SAMPLER_BPF_RING_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>
#include "bpf/sampler.h"

struct bpf_ring;

/* For a number of CPUs: log2 of a segment's size, and the bytes of one element of the rings' array.
 */
uint32_t bpf_ring_shift(int cpus);
uint32_t bpf_ring_element(int cpus);

/* Maps the two arrays. 0 or -errno. */
int bpf_ring_open(int controls_fd, int rings_fd, int cpus, struct bpf_ring **out);
void bpf_ring_close(struct bpf_ring *r);

/* Gets a sample of `size` bytes. kernel: with PCCE_SAMPLE_KERNEL_STACK, its s->kip frames of the
 * kernel, at least one and at most PCCE_KERNEL_FRAMES. All are valid only during the call. 0, or
 * what ends the reading. */
typedef int bpf_ring_sink(void *ctx, const struct pcce_sample *s, size_t size,
			  const uint64_t *kernel);

/* Passes all samples to sink(). Stops at the first result that is not 0, and returns it. */
int bpf_ring_read(struct bpf_ring *r, bpf_ring_sink *sink, void *ctx);

/* Whether a ring was so full at the last read that the next one should come sooner. */
int bpf_ring_busy(const struct bpf_ring *r);

/* Returns what the BPF program of an event has counted since the beginning, on all CPUs. */
struct sampler_counts bpf_ring_counts(const struct bpf_ring *r, uint32_t event);

/* Returns the bytes of stacks and registers that were copied, since the beginning. */
uint64_t bpf_ring_copied(const struct bpf_ring *r);

#endif

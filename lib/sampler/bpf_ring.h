/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the rings of the BPF program (bpf/sampler.h). */
#ifndef PCCE_SAMPLER_BPF_RING_H
#define PCCE_SAMPLER_BPF_RING_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>

struct bpf_ring;

/* For a number of CPUs: log2 of a segment's size, and the bytes of one element of the rings' array.
 */
uint32_t bpf_ring_shift(int cpus);
uint32_t bpf_ring_element(int cpus);

/* Maps the two arrays. 0 or -errno. */
int bpf_ring_open(int controls_fd, int rings_fd, int cpus, struct bpf_ring **out);
void bpf_ring_close(struct bpf_ring *r);

/* Passes all samples to sample(). They are valid only during the call. Stops at the first result
 * that is not 0, and returns it. */
int bpf_ring_read(struct bpf_ring *r,
		  int (*sample)(void *ctx, const struct pcce_sample *s, size_t size), void *ctx);

/* Whether a ring was so full at the last read that the next one should come sooner. */
int bpf_ring_busy(const struct bpf_ring *r);

/* Returns the number of samples that were dropped since the beginning. */
uint64_t bpf_ring_dropped(const struct bpf_ring *r);

/* Returns the bytes of stacks and registers that were copied, since the beginning. */
uint64_t bpf_ring_copied(const struct bpf_ring *r);

/* Returns how often an event was throttled. */
uint64_t bpf_ring_throttled(const struct bpf_ring *r);

/* Returns the number of samples that the kernel left out because a clock's timer ran late. */
uint64_t bpf_ring_late(const struct bpf_ring *r);

/* Returns how often a tracepoint ran the program for processes that are not followed. */
uint64_t bpf_ring_others(const struct bpf_ring *r);

#endif

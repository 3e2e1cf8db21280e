/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The reader's side of the BPF program's rings (bpf/sampler.h). */
#ifndef PCCE_SAMPLER_BPF_RING_H
#define PCCE_SAMPLER_BPF_RING_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>

struct rings;

/* For so many CPUs: log2 of a segment's size, and the bytes of one element of the rings' array. */
uint32_t rings_shift(int cpus);
uint32_t rings_element(int cpus);

/* Maps the two arrays. 0 or -errno. */
int rings_open(int controls_fd, int rings_fd, int cpus, struct rings **out);
void rings_close(struct rings *r);

/* Hands out all samples that are there; they stay valid during the call of sample only. Stops at the first
 * non-zero result and returns it. */
int rings_read(struct rings *r, int (*sample)(void *ctx, const struct pcce_sample *s, size_t size), void *ctx);

/* Was a ring so full, at the last read, that it should be read sooner? */
int rings_busy(const struct rings *r);

/* Samples that were dropped since the beginning. */
uint64_t rings_dropped(const struct rings *r);

/* How often an event was throttled. */
uint64_t rings_throttled(const struct rings *r);

#endif

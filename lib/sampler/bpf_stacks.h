/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completes the stacks of which the BPF program sends only new blocks (bpf/stack_blocks.h). */
#ifndef PCCE_SAMPLER_BPF_STACKS_H
#define PCCE_SAMPLER_BPF_STACKS_H

#include <stdint.h>
#include <pcce/abi.h>

struct bpf_stacks;

/* NULL: no memory */
struct bpf_stacks *bpf_stacks_new(int cpus);
void bpf_stacks_free(struct bpf_stacks *b);

/*
 * Completes a sample with PCCE_SAMPLE_COPY. Takes each CPU's samples in the order in which they
 * were written, each once. *out is as include/pcce/abi.h describes it, and valid until the next
 * call. 0, -ENOMEM, or -EBADMSG if the program cannot have written this.
 */
int bpf_stacks_complete(struct bpf_stacks *b, int cpu, const struct pcce_sample *s,
			const struct pcce_sample **out);

#endif

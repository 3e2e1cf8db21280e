/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See bpf_waits.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "bpf/sampler.h"
#include <pcce/page_reader.h>
#include <pcce/sample.h>
#include "sampler/bpf_waits.h"

static int memory = -1; /* of the process, for read_memory() */

/* Is a pcce_read_fn. */
static int read_memory(void *to, __u64 from, __u64 bytes)
{
	return pread(memory, to, bytes, (off_t)from) == (ssize_t)bytes;
}

/* Fills in a sample with the segments of a thread. Returns whether it has any. */
static bool fill_carrier(struct pcce_sample *s, const struct sampler_wait *w, uint64_t time)
{
	const struct pcce_page *head = (const struct pcce_page *)w->head;
	const struct pcce_entry *base = &head->base;
	struct pcce_page_stack stack;
	struct pcce_chosen chosen;

	if (!w->page || pcce_page_describe(&stack, head, w->page) || !stack.n_below)
		return false;
	if (stack.upper)
		base += PCCE_OFF_HALF / sizeof(*base);
	stack.below = base->id;
	*s = (struct pcce_sample){
		.time = time,
		.pid = w->pid,
		.tid = w->tid,
		.flags = PCCE_SAMPLE_KERNEL | PCCE_SAMPLE_CARRIER,
		.n_below = stack.n_below,
		.below = stack.below,
	};
	pcce_choose_unsent(&chosen, &stack, 0, read_memory);
	if (!(chosen.stored + chosen.kept) ||
	    !pcce_copy_segments((struct pcce_segment *)(s + 1), &stack, &chosen, read_memory))
		return false;
	s->n_segments = (uint32_t)(chosen.stored + chosen.kept);
	return true;
}

int bpf_waits_carry(int waits, uint64_t since, uint64_t time,
		    int (*add)(void *ctx, const struct pcce_sample *s, size_t size), void *ctx)
{
	size_t most =
		sizeof(struct pcce_sample) + PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment);
	struct pcce_sample *s = malloc(most);
	struct sampler_wait w;
	uint32_t tid, *before = NULL;
	int err = s ? 0 : -ENOMEM;
	char path[64];

	for (; !err && !bpf_map_get_next_key(waits, before, &tid); before = &tid) {
		if (bpf_map_lookup_elem(waits, &tid, &w) || !w.pid || w.since < since)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/mem", w.pid);
		memory = open(path, O_RDONLY | O_CLOEXEC);
		if (memory >= 0 && fill_carrier(s, &w, time))
			err = add(ctx, s, pcce_sample_size(s));
		if (memory >= 0)
			close(memory);
	}
	free(s);
	return err;
}

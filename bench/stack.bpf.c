/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Samples as a BPF profiler does: the kernel walks the user stack by frame pointers into a record
 * of a ring buffer. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define FRAMES 127 /* the kernel's limit (kernel.perf_event_max_stack) */

struct stack {
	long bytes;
	__u64 frame[FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 26);
} ring SEC(".maps");

/* One variable, so that attach_empty.c knows the order of the counts. */
struct {
	__u64 samples, complete, bytes, lost;
} counts;

SEC("perf_event")
int stack(void *ctx)
{
	struct stack *s = bpf_ringbuf_reserve(&ring, sizeof(*s), 0);

	__sync_fetch_and_add(&counts.samples, 1);
	if (!s) {
		__sync_fetch_and_add(&counts.lost, 1);
		return 0;
	}
	s->bytes = bpf_get_stack(ctx, s->frame, sizeof(s->frame), BPF_F_USER_STACK);
	if (s->bytes > 0) {
		__sync_fetch_and_add(&counts.bytes, s->bytes + 8);
		if (s->bytes < (long)sizeof(s->frame))
			__sync_fetch_and_add(&counts.complete, 1);
	}
	bpf_ringbuf_discard(s, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";

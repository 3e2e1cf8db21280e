// SPDX-License-Identifier: GPL-2.0
/*
 * Copies the kernel's own call stack.
 *
 * The kernel exports no function that begins at given registers. So the walk begins here, in the
 * handler, and passes through the frames of the interrupt. What comes before the interrupted
 * instruction is dropped. The unwinder's tables are constant, or read under RCU, and perf walks
 * stacks in NMIs, too.
 */
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "kernel_stack.h"

void pcce_copy_kernel_stack(const struct pcce_session *s, u64 ip, void *to, struct pcce_reading *r)
{
	unsigned long *frames = to + pcce_record_size(r);
	unsigned int n, first;

	if (!(s->config.flags & PCCE_KMOD_KERNEL_STACKS))
		return;
	n = stack_trace_save(frames, PCCE_KERNEL_FRAMES + PCCE_HANDLER_FRAMES, 0);
	for (first = 0; first < n && frames[first] != ip; first++)
		;
	if (first == n)
		return;
	n = min_t(unsigned int, n - first, PCCE_KERNEL_FRAMES);
	memmove(frames, frames + first, n * sizeof(*frames));
	r->n_kernel = n;
	r->flags |= PCCE_SAMPLE_KERNEL_STACK;
}

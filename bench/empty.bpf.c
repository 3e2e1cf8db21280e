/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Does nothing at a perf_event: the lower bound for bench/bpf-cost.sh and bench/sample.sh. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("perf_event")
int empty(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The floor for bench/bpf-cost.sh: a perf_event program that does nothing. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("perf_event")
int empty(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";

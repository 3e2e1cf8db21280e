/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Does nothing at a switch: the lower bound for bench/waits.sh. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("tp_btf/sched_switch")
int empty(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";

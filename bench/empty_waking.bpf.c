/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Does nothing when a thread is woken up: with empty_switch.bpf.c, the lower bound for
 * bench/locks.sh. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("tp_btf/sched_waking")
int empty(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";

# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Counts the events at which the kernel did not run the BPF program: newer kernels preempt it.

check "threads that raise events are recorded" sh -c \
	"pcce-record -q -b bpf -e syscalls:sys_enter_getppid -o missed.bpf -- missed 6 10000 >missed.bpf.out"
cp missed.bpf missed.bpf.out /out

# Events of other processes are no loss.
missed 6 1000000000 >/dev/null &
check "a program beside others with events is recorded" \
	pcce-record -q -b bpf -e syscalls:sys_enter_getppid -o beside.bpf -- sleep 3
kill $!
cp beside.bpf /out

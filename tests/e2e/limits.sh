#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Where samplers meet the kernel's limits: memory that is not there yet.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "pcce-record cannot use BPF: $bpf_reason"

# The page-faults event comes while the faulting instruction has not been done: at the first
# write to each page of a spill area, when the entry that it fills is claimed already.
check "spill builds" $CC -O2 -g $(pcce-config --cflags) "$top/tests/workloads/spill.c" $(pcce-config --ldflags) -o spill
pcce-record -q -b bpf -e page-faults -c 1 -o faults.data -- ./spill >faults.out 2>faults.err
is "page faults: output" "$(cat faults.out)" "$(./spill)"
allow_truncated=1 recording_is_exact "page faults: all samples exact" faults.data 12
deep=$(pcce-report -i faults.data --format=folded | awk -F ";" "NF > 300" | wc -l)
check "page faults: some are deep ($deep)" [ "$deep" -ge 12 ]
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record -e with rare events: each of them is a sample, so the numbers are those of the kernel.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "the bpf sampler: $bpf_reason"
# shellcheck disable=SC2046 # lists of flags
build() { $CC -g -O2 $(pcce-config --cflags) "$@" $(pcce-config --ldflags); }
check "the program is built" build "$top/tests/e2e/events/switches.c" -o switches

# weight_in DATA FUNCTION [OPTION...]: the weight of the contexts that contain the function
weight_in() {
	local data=$1 function=$2
	shift 2
	pcce-report -q -i "$data" --format=folded "$@" |
		awk -v f="$function" '";" $0 ~ ";" f "[; ]" { n += $NF } END { print n + 0 }'
}

# ---- numbers that are right by default -------------------------------------------------

# The switches of the exec before and of the exit after it are few.
timeout 60 pcce-record -b bpf -e context-switches -o cs.data -- ./switches 1500 >cs.out 2>cs.err
switches=$(cat cs.out)
weight=$(weight_in cs.data main)
rest=$(weight_in cs.data rest)
lost=$(stat_of cs.data lost)
check "context switches: weights are those of getrusage ($switches, $weight, $lost lost)" \
	[ $((switches - weight - lost)) -le 20 -a $((weight - switches)) -le 20 ]
check "and each sleep is one ($rest)" [ $((rest + lost)) -ge 1500 ]
is "each is a sample" "$(stat_of cs.data samples)" \
	"$(pcce-report -q -i cs.data --format=folded | awk '{ n += $NF } END { print n }')"

heavy='warning: one sample has .*% of the weight: .* of context-switches it represents; record with -c 1'
pcce-report -i cs.data --stdio >report.out 2>report.err
is "no sample is heavy" "$(grep -c "$heavy" report.err)" 0
timeout 60 pcce-record -q -b bpf -F 99 -e context-switches -o freq.data -- ./switches 200 >freq.out 2>&1
pcce-report -i freq.data --stdio >report.out 2>report.err
is "with -F the kernel guesses, and the report says so" "$(grep -c "$heavy" report.err)" 1
pcce-report -q -i freq.data --stdio >report.out 2>report.err
is "not with -q" "$(cat report.err)" ""

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record -b bpf --hot: the programs make a known number of page faults in each context.  So
# recordings with and without --hot must have the same counts.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/hot/bounds.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "the bpf sampler: $bpf_reason"
# shellcheck disable=SC2046 # lists of flags
build() { $CC -g -O2 $(pcce-config --cflags) "$@" $(pcce-config --ldflags) -pthread; }
check "the program is built" build "$top/tests/e2e/hot/faults.c" -o faults

# faults DATA OPTION... -- COMMAND...: records each page fault, again if samples were lost
faults() {
	local data=$1 i
	shift
	for ((i = 0; i < 5; i++)); do
		timeout 300 pcce-record -q -b bpf -e page-faults -o "$data" "$@" >"$data.out" 2>&1
		[ "$(stat_of "$data" lost)" != 0 ] || return 0
	done
	not_ok "no samples of $data are lost" "$data.stats"
}

# of_program DATA: counts of the contexts of faults.  The kernel makes some of its own below them.
of_program() { counts "$1" | grep 'touch@[0-9]*$' | sort -k 3; }

# exact_counts NAME CONTEXTS ROUNDS HOT [OPTION...]: records with both
exact_counts() {
	local name=$1 contexts=$2 rounds=$3 hot=$4
	shift 4
	faults all.data "$@" -- ./faults "$contexts" "$rounds" 40
	faults hot.data "$@" "$hot" -- ./faults "$contexts" "$rounds" 40
	of_program all.data >all.counts
	of_program hot.data >hot.counts
	check "$name: there are contexts" [ "$(wc -l <all.counts)" -ge "$contexts" ]
	is "$name: all counts are exact" "$(diff all.counts hot.counts | head -n 5)" ""
	is "$name: nothing is undecodable" "$(stat_of hot.data undecodable) $(stat_of hot.data truncated)" "0 0"
	check "$name: what is not taken is accounted for" samples_add_up hot.data
}

# Without -c, each fault is one sample: the period is 1.
exact_counts "many counters" 200 40 --hot -c 1
check "summaries merge" pcce-merge -q -o twice.data hot.data hot.data
is "and add up" "$(stat_of twice.data hot_n)" "$((2 * $(stat_of hot.data hot_n)))"

exact_counts "weights" 100 60 --hot -c 1
# A sample of 3 faults has one of three contexts, in another order in each run.
faults hot.data -c 3 --hot -- ./faults 100 60 40
is "weights: N is the sum of them" "$(stat_of hot.data hot_n)" "$((3 * $(stat_of hot.data taken)))"

# As many contexts as there are counters.
exact_counts "few counters" 1500 15 --hot=0.002,0.001 -c 1
is "few counters: the recorder's counts are exact" "$(stat_of hot.data hot_offset)" 0

# Some contexts have 8 times as many faults as others.
faults hot.data -c 1 --hot=0.1,0.04 -- ./faults 1500 15 40
of_program hot.data >hot.counts
is "counts in little memory keep their bounds" "$(awk '
	{ weight = $1; error = $2; sub(/^[0-9]+ [0-9]+ /, "") }
	NR == FNR { exact[$0] = weight; next }
	weight > exact[$0] || weight + error < exact[$0] {
		print "not " weight " to " weight + error " but " exact[$0] + 0 ": " $0
	}' all.counts hot.counts | head -n 5)" ""
check "little memory: at most 2 / epsilon contexts are kept" [ "$(stat_of hot.data unique_contexts)" -le 51 ]

# ---- addresses that change their meanings ----------------------------------------------

for i in 1 2; do
	check "library $i is built" build -fPIC -shared -DLIBRARY=$i "$top/tests/e2e/hot/swap.c" -o swap$i.so
done
check "the program is built" build -fPIE -pie -rdynamic "$top/tests/e2e/hot/swap.c" -ldl -o swap
faults all.data -c 1 -- ./swap 6
faults hot.data -c 1 --hot -- ./swap 6

# in_library DATA N: faults in library N
in_library() {
	counts "$1" | awk -v name=";fault_$2@" '/;main@/ && index($0, name) { n += $1 } END { print n + 0 }'
}

is "libraries: all samples have them" "$(in_library all.data 1) $(in_library all.data 2)" "300 300"
is "libraries: with --hot, too" "$(in_library hot.data 1) $(in_library hot.data 2)" "300 300"
is "libraries: nothing is undecodable" "$(stat_of hot.data undecodable)" 0
done_testing

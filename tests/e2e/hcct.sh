#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 900
#
# pcce-record --count --hot: counts of calls in bounded memory.  The exact counts of the same
# program, which suite e2e/count tests, are within the bounds, and no hot context is missing.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
. "$top/tests/e2e/hot/bounds.sh"
cd "$scratch" || exit 1

# within_bounds NAME PARAMETERS COMMAND...
within_bounds() {
	local name=$1 p parameters=$2
	shift 2
	record_counts exact.data --engine=cct "$@"
	counts exact.data >exact.counts
	for p in $parameters; do
		record_counts hot.data "--hot=$p" "$@"
		is "$name, $p: status and output" "$(cat hot.data.status hot.data.out)" \
			"$(cat exact.data.status exact.data.out)"
		counts hot.data >hot.counts
		bounds_hold "$name, $p: $(wc -l <exact.counts) counts are within their bounds" \
			exact.counts hot.counts "${p%,*}"
		check "$name, $p: $(stat_of hot.data unique_contexts) contexts, at most 2 / epsilon" \
			[ "$(stat_of hot.data unique_contexts)" -le \
			"$((2 * $(stat_of hot.data hot_counters) + 2))" ]
		is "$name, $p: nothing is lost" "$(stat_of hot.data lost)" 0
	done
}

# With so few counters, contexts lose and get them all the time.
for workload in asm_calls exceptions fork indirect longjmp mutual origins recursion replaced \
	setjmp signal_kinds tailcalls threads; do
	source=$(echo "$workloads/$workload".c*)
	if build "$workload" "$source" -O2 -DPCCE_STEPPED; then
		within_bounds "$workload" "0.5,0.3 0.05,0.01" "./$workload"
	else
		not_ok "$workload: builds" build.log
	fi
done

if build tree "$here/tree.c" -O1; then
	within_bounds "a flat tree" "0.3,0.01 0.01,0.001 0.0001" ./tree
	check "a flat tree: there were more contexts than counters" \
		[ "$(stat_of exact.data unique_contexts)" -gt 50000 ]
else
	not_ok "a flat tree: builds" build.log
fi

# Each thread has its own counters.  They merge.
if build many "$here/many.c" -O1 -pthread; then
	within_bounds "40 threads" "0.3,0.2 0.05,0.02 0.001" ./many deeper
else
	not_ok "40 threads: builds" build.log
fi

# Signals arrive at any instruction, also of the counting code.  Some handlers leave with a jump.
if build jumping "$here/jumping.c" -O1; then
	record_counts hot.data --hot=0.3,0.1 ./jumping
	is "signals: status" "$(cat hot.data.status)" 0
	is "signals: nothing is lost" "$(stat_of hot.data lost)" 0
	record_counts all.data --hot=0.0001 ./jumping
	read -r g handlers <all.data.out
	pcce-report -q -i all.data --format=folded >all.folded
	for function in "g $g" "on_alarm $handlers"; do
		wanted=${function#* }
		got=$(awk -v f="${function% *}" '
			{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, frames, ";") }
			frames[k] == f { sum += n }
			END { print sum }' all.folded)
		check "signals: ${function% *} is entered $wanted times, of them $((wanted - got)) marked" \
			[ "$got" -le "$wanted" -a "$((got + $(stat_of all.data undecodable)))" -ge "$wanted" ]
	done
else
	not_ok "signals: builds" build.log
fi

# The engine tells apart what a handler interrupts in the C library.  The recording does not.
if build library "$here/library.c" -O1; then
	record_counts hot.data --hot=0.3,0.05 ./library
	is "signals in a library: status" "$(cat hot.data.status)" 0
	# leaf may be interrupted between its entry and its increment, which handlers then undo.
	taken=$(stat_of hot.data taken)
	check "signals in a library: $taken calls, $(cat hot.data.out) by the program" \
		[ "$taken" -ge "$(cat hot.data.out)" -a "$taken" -le $(($(cat hot.data.out) + 20)) ]
	is "signals in a library: nothing is lost" "$(stat_of hot.data lost)" 0
else
	not_ok "signals in a library: builds" build.log
fi

# ---- options -------------------------------------------------------------------------------

record_counts hot.data --engine=hcct ./many
is "the default epsilon" "$(stat_of hot.data hot_epsilon) $(stat_of hot.data hot_counters)" "2e-05 50000"
pcce-record --count --engine=cct --hot -o no.data -- ./many >refused 2>&1
is "--hot with another engine is refused" "$? $(head -n 1 refused)" \
	"64 pcce-record: cannot use --hot with --engine=cct: leave out one of them, or use --engine=hcct"

done_testing

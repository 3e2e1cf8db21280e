# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# What the suites share that test engines which find hot contexts.  Source it after
# tests/e2e/count/lib.sh.

. "$top/tests/e2e/hot/bounds.sh"

# within_bounds ENGINE NAME PARAMETERS COMMAND...: the counts of an engine that finds hot contexts,
# with each of some parameters, against exact counts.  It leaves both in exact.data and hot.data.
within_bounds() {
	local engine=$1 name=$2 p parameters=$3
	shift 3
	record_counts exact.data --engine=cct "$@"
	counts exact.data >exact.counts
	for p in $parameters; do
		record_counts hot.data "--engine=$engine --hot=$p" "$@"
		is "$name, $p: status and output" "$(cat hot.data.status hot.data.out)" \
			"$(cat exact.data.status exact.data.out)"
		counts hot.data >hot.counts
		bounds_hold "$name, $p: $(wc -l <exact.counts) counts are within their bounds" \
			exact.counts hot.counts "${p%,*}"
		check "$name, $p: $(stat_of hot.data unique_contexts) contexts, at most 2 / epsilon" \
			[ "$(stat_of hot.data unique_contexts)" -le \
			"$((2 * $(stat_of hot.data hot_counters) + 2))" ]
		is "$name, $p: nothing is lost" "$(stat_of hot.data lost)" 0
		# [cold] is no context.
		is "$name, $p: pcce-compare knows each hot context" \
			"$(pcce-compare --phi="${p%,*}" exact.data hot.data | grep '^unknown:')" "unknown: 0"
	done
}

# programs_are_within_bounds ENGINE: with so few counters, or such short buckets, contexts lose and
# get counters all the time.  It leaves tree and many, if they can be built.
programs_are_within_bounds() {
	local engine=$1 workload
	for workload in asm_calls exceptions fork indirect longjmp mutual origins recursion \
		replaced setjmp signal_kinds tailcalls threads; do
		if build "$workload" "$(echo "$workloads/$workload".c*)" -O2 -DPCCE_STEPPED; then
			within_bounds "$engine" "$workload" "0.5,0.3 0.05,0.01" "./$workload"
		else
			not_ok "$workload: builds" build.log
		fi
	done
	if build tree "$here/tree.c" -O1; then
		within_bounds "$engine" "a flat tree" "0.3,0.01 0.01,0.001 0.0001" ./tree
		check "a flat tree: there were more contexts than counters" \
			[ "$(stat_of exact.data unique_contexts)" -gt 50000 ]
	else
		not_ok "a flat tree: builds" build.log
	fi
	# Each thread has its own counters or buckets.  Their summaries merge.
	if build many "$here/many.c" -O1 -pthread; then
		within_bounds "$engine" "40 threads" "0.3,0.2 0.05,0.02 0.001" ./many deeper
	else
		not_ok "40 threads: builds" build.log
	fi
}

# signals_are_counted ENGINE: signals arrive at any instruction, also of the counting code.  Some
# handlers leave with a jump.
signals_are_counted() {
	local engine=$1 g handlers function wanted got cold taken
	if build jumping "$here/jumping.c" -O1; then
		record_counts hot.data "--engine=$engine --hot=0.3,0.1" ./jumping
		is "signals: status" "$(cat hot.data.status)" 0
		is "signals: nothing is lost" "$(stat_of hot.data lost)" 0
		record_counts all.data "--engine=$engine --hot=0.0001" ./jumping
		read -r g handlers <all.data.out
		pcce-report -q -i all.data --format=folded >all.folded
		for function in "g $g" "on_alarm $handlers"; do
			wanted=${function#* }
			got=$(awk -v f="${function% *}" '
				{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, frames, ";") }
				frames[k] == f { sum += n }
				END { print sum }' all.folded)
			cold=$(sed -n 's/^\[cold\] //p' all.folded)
			check "signals: $function times, of them $((wanted - got)) marked" \
				[ "$got" -le "$wanted" -a \
				"$((got + cold + $(stat_of all.data undecodable)))" -ge "$wanted" ]
		done
	else
		not_ok "signals: builds" build.log
	fi

	# The engine tells apart what a handler interrupts in the C library.  A recording does not.
	if build library "$here/library.c" -O1; then
		record_counts hot.data "--engine=$engine --hot=0.3,0.05" ./library
		is "signals in a library: status" "$(cat hot.data.status)" 0
		# leaf may be interrupted between entry and increment, which handlers then undo.
		taken=$(stat_of hot.data taken) wanted=$(cat hot.data.out)
		check "signals in a library: $taken calls, $wanted by the program" \
			[ "$taken" -ge "$wanted" -a "$taken" -le $((wanted + 20)) ]
		is "signals in a library: nothing is lost" "$(stat_of hot.data lost)" 0
	else
		not_ok "signals in a library: builds" build.log
	fi
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
# seconds: 900
#
# pcce-record --count --hot: counts of calls in bounded memory.  The exact counts of the same
# program, which suite e2e/count tests, are within the bounds, and no hot context is missing.  Suite
# e2e/lossy does the same with Lossy Counting.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
. "$top/tests/e2e/count/hot.sh"
cd "$scratch" || exit 1

programs_are_within_bounds hcct
signals_are_counted hcct

# ---- threads -------------------------------------------------------------------------------

# calls_of_threads DATA: prints how many calls each thread has made
calls_of_threads() {
	pcce-report -q -i "$1" --format=jsonl | grep -o '"threads":.*' |
		grep -o '"tid":[0-9]*\|"weight":[0-9]*' |
		awk -F: '/tid/ { tid = $2 } /weight/ { n[tid] += $2 } END { for (t in n) print n[t] }' |
		sort -n
}
check "a program with threads is built" build threads "$workloads/threads.c" -O2 -pthread
record_counts all.data "" ./threads
record_counts hot.data "--engine=hcct --per-thread" ./threads
check "there are threads" [ "$(calls_of_threads all.data | wc -l)" -ge 8 ]
is "--per-thread: the calls of each thread" "$(calls_of_threads hot.data)" \
	"$(calls_of_threads all.data)"

# ---- deep stacks ---------------------------------------------------------------------------

# A context that keeps a counter may be so deep that more segments are new than a sample may have.
check "a program with deep stacks is built" build irregular "$here/irregular.c" -O2
for engine in hcct lossy; do
	record_counts deep.data "--engine=$engine --hot=0.005,0.0005" ./irregular 12000
	is "$engine, deep stacks: status" "$(cat deep.data.status)" 0
	is "$engine, deep stacks: all calls are part of N, none is lost" \
		"$(stat_of deep.data hot_n) $(stat_of deep.data lost)" "$(cat deep.data.out) 0"
	is "$engine, deep stacks: contexts are exact" "$(stat_of deep.data undecodable)" 0
done

# ---- damage --------------------------------------------------------------------------------

# Whatever the program writes to the shared memory, there is a recording that can be read.
check "a program that writes there is built" build vandal "$here/vandal.c" -O2
for options in --engine=cct --hot=0.1,0.01 "--engine=lossy --hot=0.1,0.01"; do
	bad=
	for seed in {1..12}; do
		record_counts vandal.data "$options" ./vandal "$seed"
		pcce-report -q -i vandal.data --stats >vandal.stats 2>vandal.err
		case "$? $(cat vandal.data.status)" in
		"0 0" | "3 0" | "0 1" | "3 1") ;;
		*) bad+=" $seed" ;;
		esac
		grep -h "damaged" vandal.err && bad+=" $seed"
	done
	is "$options: the recording can be read after damage" "$bad" ""
done

# ---- options -------------------------------------------------------------------------------

record_counts hot.data --engine=hcct ./many
is "the default epsilon" "$(stat_of hot.data hot_epsilon) $(stat_of hot.data hot_counters)" "2e-05 50000"
pcce-record --count --engine=cct --hot -o no.data -- ./many >refused 2>&1
is "--hot with another engine is refused" "$? $(head -n 1 refused)" \
	"64 pcce-record: cannot use --hot with --engine=cct: leave out one of them, or use --engine=hcct"

done_testing

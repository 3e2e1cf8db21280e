#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
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

# ---- options -------------------------------------------------------------------------------

record_counts hot.data --engine=hcct ./many
is "the default epsilon" "$(stat_of hot.data hot_epsilon) $(stat_of hot.data hot_counters)" "2e-05 50000"
pcce-record --count --engine=cct --hot -o no.data -- ./many >refused 2>&1
is "--hot with another engine is refused" "$? $(head -n 1 refused)" \
	"64 pcce-record: cannot use --hot with --engine=cct: leave out one of them, or use --engine=hcct"

done_testing

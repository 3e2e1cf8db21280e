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

# With so few counters, contexts lose and get them all the time.
for workload in asm_calls exceptions fork indirect longjmp mutual origins recursion replaced \
	setjmp signal_kinds tailcalls threads; do
	source=$(echo "$workloads/$workload".c*)
	if build "$workload" "$source" -O2 -DPCCE_STEPPED; then
		within_bounds hcct "$workload" "0.5,0.3 0.05,0.01" "./$workload"
	else
		not_ok "$workload: builds" build.log
	fi
done

if build tree "$here/tree.c" -O1; then
	within_bounds hcct "a flat tree" "0.3,0.01 0.01,0.001 0.0001" ./tree
	check "a flat tree: there were more contexts than counters" \
		[ "$(stat_of exact.data unique_contexts)" -gt 50000 ]
else
	not_ok "a flat tree: builds" build.log
fi

# Each thread has its own counters.  They merge.
if build many "$here/many.c" -O1 -pthread; then
	within_bounds hcct "40 threads" "0.3,0.2 0.05,0.02 0.001" ./many deeper
else
	not_ok "40 threads: builds" build.log
fi

signals_are_counted hcct

# ---- options -------------------------------------------------------------------------------

record_counts hot.data --engine=hcct ./many
is "the default epsilon" "$(stat_of hot.data hot_epsilon) $(stat_of hot.data hot_counters)" "2e-05 50000"
pcce-record --count --engine=cct --hot -o no.data -- ./many >refused 2>&1
is "--hot with another engine is refused" "$? $(head -n 1 refused)" \
	"64 pcce-record: cannot use --hot with --engine=cct: leave out one of them, or use --engine=hcct"

done_testing

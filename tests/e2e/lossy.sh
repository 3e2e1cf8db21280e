#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
# seconds: 900
#
# pcce-record --count --engine=lossy: Lossy Counting instead of Space Saving.  The tests are those
# of suite e2e/hcct, and what differs.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
. "$top/tests/e2e/count/hot.sh"
cd "$scratch" || exit 1

programs_are_within_bounds lossy

# Two summaries, and one of Space Saving.
record_counts a.data "--engine=lossy --hot=0.01,0.001" ./tree
record_counts b.data "--engine=lossy --hot=0.01,0.001" ./tree 70
record_counts c.data "--engine=hcct --hot=0.01,0.001" ./tree 35
for n in "" 70 35; do
	# shellcheck disable=SC2086
	record_counts "exact$n.data" --engine=cct ./tree $n
done
pcce-merge -q -o exact.data exact.data exact70.data exact35.data 2>merge.err
pcce-merge -q -o merged.data a.data b.data c.data 2>>merge.err
is "merged: no message" "$(cat merge.err)" ""
counts exact.data >exact.counts
counts merged.data >merged.counts
bounds_hold "merged: $(wc -l <exact.counts) counts are within their bounds" exact.counts \
	merged.counts 0.01

record_counts exact.data --engine=cct ./many deeper
record_counts lossy.data "--engine=lossy --hot=0.00001" ./many deeper
counts exact.data >exact.counts
counts lossy.data >lossy.counts
is "before the first bucket ends, all counts are exact" "$(sort lossy.counts)" \
	"$(sort exact.counts)"

signals_are_counted lossy

# ---- options -------------------------------------------------------------------------------

record_counts lossy.data --engine=lossy ./many
is "the default epsilon" "$(stat_of lossy.data hot_epsilon) $(stat_of lossy.data hot_counters)" \
	"2e-05 50000"
record_counts lossy.data "--engine=lossy --burst=0.1ms/0.3ms --hot=0.01" ./many
is "bursts: status, and nothing is lost" \
	"$(cat lossy.data.status) $(stat_of lossy.data lost)" "0 0"
check "bursts: $(stat_of lossy.data taken) calls" [ "$(stat_of lossy.data taken)" -gt 0 ]

done_testing

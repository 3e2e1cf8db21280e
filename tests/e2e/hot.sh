#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 900
#
# pcce-record --hot: hot contexts in bounded memory.  Each program is recorded with all samples.
# The recorder's own code then makes summaries of the same samples (replay.c), which must keep
# their bounds: no hot context is missing, and each true count is between the count and the count
# with its error.  The same holds for merged summaries.  At last programs are recorded with --hot.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/hot/bounds.sh"
cd "$scratch" || exit 1
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
workloads=$top/tests/workloads
build_with_tools replay -O2 "$top/tests/datafile/replay.c"

# summaries NAME DATA: summaries of a recording, coarse and fine, keep their bounds
summaries() {
	local name=$1 data=$2 p
	counts "$data" >exact.counts
	for p in 0.3,0.12 0.05,0.02 0.0001; do
		if ! ./replay hot="$p" "$data" summary.data 2>replay.err; then
			not_ok "$name: a summary with $p is made" replay.err
			continue
		fi
		counts summary.data >summary.counts
		bounds_hold "$name: a summary with $p keeps its bounds" exact.counts summary.counts "${p%,*}"
		check "$name: it keeps at most 2 / epsilon contexts" \
			[ "$(stat_of summary.data unique_contexts)" -le "$((2 * $(stat_of summary.data hot_counters) + 2))" ]
	done
}

samplers=(self)
if has_bpf; then
	samplers+=(bpf)
else
	skip "the bpf sampler" "$bpf_reason"
fi

# build NAME.EXT: builds a workload
build() {
	local name=${1%.*} compiler=$CC
	case $1 in *.cc) compiler=$CXX ;; esac
	# shellcheck disable=SC2086
	check "$name is built" $compiler -O2 -g -I"$workloads" $cflags "$workloads/$1" $ldflags -pthread -o "$name"
}

# Each has many samples, and some contexts: of recursion, threads and processes.
frequency=5000 record_seconds=600
for workload in recursion.c threads.c fork.c; do
	name=${workload%.*}
	build "$workload"
	for sampler in "${samplers[@]}"; do
		record "$sampler" "$name.$sampler.data" "./$name"
		summaries "$name ($sampler)" "$name.$sampler.data"
	done
done

# ---- merging -----------------------------------------------------------------------------

check "a second recording" record self again.data ./recursion
./replay hot=0.2,0.1 recursion.self.data one.data && ./replay hot=0.1,0.04 again.data two.data
pcce-merge -q -o exact.data recursion.self.data again.data 2>merge.err
check "summaries merge" pcce-merge -q -o summary.data one.data two.data
counts exact.data >exact.counts
counts summary.data >summary.counts
bounds_hold "merged summaries keep their bounds" exact.counts summary.counts 0.2
is "the coarser epsilon holds" "$(stat_of summary.data hot_epsilon) $(stat_of summary.data hot_counters)" "0.1 10"
check "not more are kept" [ "$(stat_of summary.data unique_contexts)" -le 21 ]
check "a merged summary merges again" pcce-merge -q -o more.data summary.data one.data two.data
counts more.data >summary.counts
pcce-merge -q -o exact2.data exact.data exact.data 2>merge.err
counts exact2.data >exact.counts
bounds_hold "and keeps its bounds" exact.counts summary.counts 0.2
pcce-merge -q -o mixed.data recursion.self.data one.data 2>merge.err
is "a summary does not merge with all samples" "$(cat merge.err)" \
	"pcce-merge: cannot merge recursion.self.data and one.data: only the second was recorded with --hot; merge recordings of one kind"

# ---- threads -----------------------------------------------------------------------------

# Three of the workload's threads have the same contexts.
./replay hot=0.01,0.004 per-thread threads.self.data threads.data
./replay hot=0.01,0.004 threads.self.data whole.data
is "the summary knows that it is one of threads" \
	"$(stat_of threads.data hot_per_thread) $(stat_of whole.data hot_per_thread)" "1 0"
tids=$(pcce-report -q -i threads.self.data --format=jsonl | grep -o '"tid":[0-9]*' | sort | uniq -c |
	sort -rn | sed -n 's/.*://p' | head -n 4)
for tid in $tids; do
	counts threads.self.data --tid="$tid" >exact.counts
	counts threads.data --tid="$tid" >summary.counts
	bounds_hold "--per-thread keeps the bounds in a thread" exact.counts summary.counts thread \
		"$(stat_of threads.data hot_offset)"
done
check "there are some threads" [ "$(echo "$tids" | wc -w)" -ge 3 ]
counts threads.self.data >exact.counts
counts threads.data >summary.counts
is "all threads together" "$(awk '{ n += $1 } END { print n }' summary.counts)" \
	"$(awk '{ n += $1 } END { print n }' exact.counts)"
pcce-report -q -i threads.data --stdio >tree.out
check "the tree tells that bounds hold in each thread" \
	grep -q '^in a thread that has it, no self share lacks more than its error' tree.out
check "summaries of threads merge" pcce-merge -q -o merged.data threads.data threads.data
is "the merged one is one of threads" "$(stat_of merged.data hot_per_thread)" 1
pcce-merge -q -o mixed.data threads.data whole.data 2>merge.err
is "but not with one of contexts" "$(cat merge.err)" \
	"pcce-merge: cannot merge threads.data and whole.data: only the first was recorded with --per-thread; merge recordings of one kind"
for sampler in "${samplers[@]}"; do
	record_options="--hot=0.01 --per-thread" record "$sampler" live.data ./threads
	is "$sampler: --per-thread records" "$(stat_of live.data hot_per_thread)" 1
	check "$sampler: each thread has its contexts" [ "$(pcce-report -q -i live.data --format=jsonl |
		grep -o '"tid":[1-9][0-9]*' | sort -u | wc -l)" -ge 3 ]
done

# ---- the recorder ------------------------------------------------------------------------

build deep_irregular.c
for sampler in "${samplers[@]}"; do
	# A machine that stands still may do so anywhere, and make another context the hottest.
	for _ in 1 2 3 4 5; do
		record_options=--hot=0.05,0.02 record "$sampler" hot.data ./recursion
		counts hot.data >hot.counts
		sort -rn hot.counts | grep -v '\[cold\]' | head -n 1 >hottest
		! grep -q 'walk@.*;burn@' hottest || break
	done
	check "$sampler: --hot records" [ "$(stat_of hot.data samples)" -ge 100 ]
	is "$sampler: the recording knows PHI and EPSILON" \
		"$(stat_of hot.data hot_phi) $(stat_of hot.data hot_epsilon) $(stat_of hot.data hot_counters)" "0.05 0.02 50"
	is "$sampler: and N" "$(stat_of hot.data taken)" "$(stat_of hot.data samples)"
	check "$sampler: what is not taken is accounted for" samples_add_up hot.data
	check "$sampler: the hottest context is the program's" grep -q 'walk@.*;burn@' hottest
	record_options=--hot=0.3,0.1 record "$sampler" coarse.data ./deep_irregular
	check "$sampler: few contexts of many are kept" [ "$(stat_of coarse.data unique_contexts)" -le 21 ]
	record_options=--hot record "$sampler" default.data ./recursion
	is "$sampler: PHI and EPSILON have defaults" \
		"$(stat_of default.data hot_phi) $(stat_of default.data hot_epsilon)" "0.0001 2e-05"
done

# ---- reports and mistakes ----------------------------------------------------------------

./replay hot=0.2,0.12 recursion.self.data coarse.data
pcce-report -i coarse.data --stdio >tree.out 2>&1
check "the tree tells phi, epsilon and errors" \
	sh -c 'grep -q "^recorded with --hot: φ = 0.2, ε = 0.12, N = " tree.out && grep -q "^  total     self    error" tree.out'
check "the tree sums up what was not kept" grep -q '\[cold\]' tree.out
pcce-report -i coarse.data --hot --format=dot >dot.out 2>&1
check "DOT has bounds" sh -c 'grep -q "recorded with φ = 0.2, ε = 0.12" dot.out && grep -q "label=.* to [0-9]" dot.out'
if command -v dot >/dev/null; then
	check "DOT is valid" sh -c 'dot -Tsvg dot.out >dot.svg'
else
	skip "DOT is valid" "graphviz is not installed"
fi
pcce-report -i coarse.data --format=json >json.out 2>&1
check "JSON has bounds" sh -c 'grep -q "^\"summary\":{\"phi\":0.2" json.out && grep -q "\"error\":[1-9]" json.out'
for format in $(formats); do
	check "$format shows a summary" pcce-report -q -i coarse.data --format=$format -o format.out
done
pcce-report -i coarse.data --hot=0.0001 --stdio >/dev/null 2>small.err
check "a PHI that the summary cannot answer is refused" \
	grep -q '^pcce-report: cannot use --hot=0.0001: coarse.data was recorded with --hot=0.2,0.12 and lacks' small.err
is "bad options are refused" "$(for option in --hot=0.1,0.2 --hot=0.1,0.1 --hot=x --hot=0 --hot=2 --hot=1e-12 \
	"--hot --verify" --per-thread; do
	# shellcheck disable=SC2086
	pcce-record $option -o bad.data -- true 2>&1 | head -n 1
done)" "pcce-record: cannot use --hot: '0.1,0.2' has an EPSILON that is not above 0 and below PHI
pcce-record: cannot use --hot: '0.1,0.1' has an EPSILON that is not above 0 and below PHI
pcce-record: cannot use --hot: 'x' is not PHI or PHI,EPSILON, such as 0.0001
pcce-record: cannot use --hot: '0' has a PHI that is not above 0 and at most 1
pcce-record: cannot use --hot: '2' has a PHI that is not above 0 and at most 1
pcce-record: cannot use --hot: '1e-12' needs more than 1073741824 counters
pcce-record: cannot use --hot with --verify: leave out one of them
pcce-record: cannot use --per-thread without --hot: all other recordings keep threads apart; leave it out"
if [ ${#sanitize[@]} = 0 ]; then
	(
		ulimit -v 2000000
		pcce-record -b self --hot=1e-7 -o bad.data -- true
	) >memory.err 2>&1
	is "memory that is not to be had: one sentence" "$(cat memory.err)" \
		"pcce-record: cannot keep the 100000000 counters of --hot: out of memory; use a larger EPSILON"
else
	skip "memory that is not to be had: one sentence" "the sanitizers need more address space"
fi

done_testing

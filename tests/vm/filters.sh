# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# The programs of parts/22-filters.sh, and what their recordings must have.

. "$top/tests/e2e/hot/bounds.sh"
. "$top/tests/e2e/only/lib.sh"

# Adds the programs to the guest.
filter_programs() {
	local i
	vm_instrumented "$top/tests/e2e/hot/faults.c" faults -pthread
	vm_instrumented "$top/tests/e2e/only/shapes.c" shapes -pthread -ldl
	vm_instrumented "$top/tests/e2e/only/library.c" library.so -fPIC -shared
	mv "$vm_tree/bin/library.so" "$vm_tree/t"
	for i in 1 2; do
		vm_instrumented "$top/tests/e2e/hot/swap.c" swap$i.so -fPIC -shared -DLIBRARY=$i
		mv "$vm_tree/bin/swap$i.so" "$vm_tree/t"
	done
	vm_instrumented "$top/tests/e2e/hot/swap.c" swap -fPIE -pie -rdynamic -ldl
}

# in_library DATA N: faults in library N
in_library() {
	counts "$1" | awk -v name=";fault_$2@" '/;main@/ && index($0, name) { n += $1 } END { print n + 0 }'
}

# of_program DATA: counts of the contexts of faults.c.  The kernel makes some of its own below them.
of_program() { counts "$1" | grep 'touch@[0-9]*$' | sort -k 3; }

# all_counts_are_exact NAME ALL HOT
all_counts_are_exact() {
	is "$1: all counts are exact" "$(diff <(of_program "$2") <(of_program "$3") | head -n 5)" ""
	is "$1: nothing is undecodable" "$(stat_of "$3" undecodable) $(stat_of "$3" truncated)" "0 0"
}

# same_as_matching NAME ALL ONLY EXPRESSION
same_as_matching() {
	faults_of "$2" | grep -E -e "$(pattern_of "$4")" >wanted.counts
	check "$1: there are $(sum <wanted.counts) faults" [ "$(sum <wanted.counts)" -ge 20 ]
	is "$1: the same counts" "$(diff wanted.counts <(faults_of "$3") | cut -c 1-200 | head -n 5)" ""
	every_context_matches "$1" "$3" "$4"
}

filter_results() {
	local data
	cd "$vm_out" || return
	for data in many.* few.* shapes.* swap.*; do
		case $data in *.stats* | *.log) continue ;; esac
		check "$data: what is not taken is accounted for" samples_add_up "$data"
	done
	check "there are contexts" [ "$(of_program many.all | wc -l)" -ge 60 ]
	all_counts_are_exact "many counters" many.all many.hot
	# A sample of 3 faults has one of three contexts, in another order in each run.
	is "weights: N is the sum of them" "$(stat_of many.weights hot_n)" "$((3 * $(stat_of many.weights taken)))"
	all_counts_are_exact "few counters" few.all few.hot
	is "counts in little memory keep their bounds" "$(awk '
		{ weight = $1; error = $2; sub(/^[0-9]+ [0-9]+ /, "") }
		NR == FNR { exact[$0] = weight; next }
		weight > exact[$0] || weight + error < exact[$0] {
			print "not " weight " to " weight + error " but " exact[$0] + 0 ": " $0
		}' <(of_program few.all) <(of_program few.little) | head -n 5)" ""

	same_as_matching "--only" many.all many.out "left < work_less"
	same_as_matching "--only, many contexts" few.all few.out "touch << right < left < work"
	same_as_matching "--only, deep stacks" shapes.all shapes.down "save << down"
	is "--only, deep stacks: they are whole" "$(stat_of shapes.down exact)" "$(stat_of shapes.down samples)"
	same_as_matching "--only --hot" many.all many.both "right < right << left"
	same_as_matching "--only --hot, deep stacks" shapes.all shapes.hot "save << down"
	is "--only --hot: N is the weight of the others" "$(stat_of many.both hot_n)" "$(stat_of many.both taken)"

	is "libraries: all samples have them" "$(in_library swap.all 1) $(in_library swap.all 2)" "200 200"
	is "libraries: with --hot, too" "$(in_library swap.hot 1) $(in_library swap.hot 2)" "200 200"
	is "libraries: with --only, those of one" "$(in_library swap.out 1) $(in_library swap.out 2)" "200 0"

	pcce-report -q -i calls.beside --no-inline --event=1 --format=folded >beside.folded
	is "--count: the samples are those of the program" "$(same_contexts beside.folded | diff - <(same_contexts calls.beside.out) | head -n 5)" ""
	is "--count: samples do not change the counts" "$(diff \
		<(pcce-report -q -i calls.beside --event=0 --format=folded | sort) \
		<(pcce-report -q -i calls.alone --event=0 --format=folded | sort) | head -n 5)" ""
	cd "$scratch" || return
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record --only: samples outside of given contexts are left out, and counted.  The program
# makes a known number of page faults in each context.  So what a recording with --only has must be
# what a recording of all samples has in the contexts that the expression describes.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/only/lib.sh"
cd "$scratch" || exit 1
# shellcheck disable=SC2046 # lists of flags
build() { $CC -g -O2 $(pcce-config --cflags) "$@" $(pcce-config --ldflags) -pthread; }
check "the library is built" build -fPIC -shared "$top/tests/e2e/only/library.c" -o library.so
check "the program is built" build "$top/tests/e2e/only/shapes.c" -ldl -o shapes

# ---- page faults ---------------------------------------------------------------------------

# faults DATA OPTION...: records each page fault of ${command[@]}
command=(./shapes 20 ./library.so)
faults() {
	local data=$1 i
	shift
	for ((i = 0; i < 5; i++)); do
		timeout 300 pcce-record -b bpf -e page-faults -c 1 -o "$data" "$@" -- "${command[@]}" >"$data.out" 2>&1
		[ "$(stat_of "$data" lost)" != 0 ] || return 0
	done
	not_ok "no samples of $data are lost" "$data.stats"
}

# Those with 0 cannot be met: other functions are between, or nothing calls so.
expressions=("save" "load << thread" "both < all < begin < child" "save << down < all" "load << child < main"
	"save < both < down < by_one < down" "compare << sort" "save < library_step" "save << library_calls < all"
	"on_signal << all" "load < on_signal" "again < again < again" "s*e << all" "touch << all < begin < main"
	"both < again < again < all" "load << again < again < all" "begin" "both < again << all << thread")
never=("compare < sort" "both < sort" "on_signal < all" "main < touch" "save < on_signal" "load << library_calls")

if has_bpf; then
	faults all.data
	faults_of all.data >all.counts
	check "there are faults" [ "$(sum <all.counts)" -ge 700 ]
	is "a recording of all samples leaves out nothing" "$(stat_of all.data left_out)$(stat_of all.data only)" ""
	for e in "${expressions[@]}" "${never[@]}"; do
		faults only.data --only="$e"
		faults_of only.data >only.counts
		grep -E -e "$(pattern_of "$e")" all.counts >wanted.counts
		is "$e: the same counts ($(sum <wanted.counts))" "$(diff wanted.counts only.counts | cut -c 1-200 | head -n 5)" ""
		every_context_matches "$e" only.data "$e"
		check "$e: what is not taken is accounted for" samples_add_up only.data
		is "$e: the recording knows it" "$(stat_of only.data only)" "$e"
		check "$e: the others are left out" \
			[ $(($(stat_of only.data left_out) + $(stat_of only.data taken))) -ge "$(sum <all.counts)" ]
	done
		is "nothing is undecodable" "$(stat_of only.data undecodable) $(stat_of only.data truncated)" "0 0"

	# across EXPRESSION PATTERN: the chain leads to the creator of a thread.  The pattern is of
	# lines with creation contexts.
	across_of() {
		pcce-report -q -i "$1" --no-inline --origins --format=folded | grep ';touch [0-9]*$' | sort
	}
	across_of all.data >all.across
	check "some threads have a creation context" grep -qE '^main;\[thread\];' all.across
	across() {
		faults only.data --only="$1"
		grep -E -e "$2" all.across >wanted.counts
		check "$1: there are some" [ -s wanted.counts ]
		is "$1: the same counts" "$(diff wanted.counts <(across_of only.data) | cut -c 1-200 | head -n 5)" ""
		check "$1: what is not taken is accounted for" samples_add_up only.data
		is "$1: nothing is unknown but what is marked" "$(across_of only.data | grep -cE "$2")" "$(wc -l <wanted.counts)"
	}
	across "save <<< main" '^main;(.*;)?save;touch '
	across "load < both <<< main" '^main;(.*;)?both;load;touch '
	across "both <<< thread <<< main" '^main;(.*;)?thread;(.*;)?both;(load|save);touch '
	across "touch < save <<< begin < thread" '(^|;)thread;begin;(.*;)?save;touch '
	across "all << thread <<< main" '^main;(.*;)?thread;(.*;)?all;'
	faults hot.data --hot --only="save <<< main"
	is "save <<< main, --hot: the same number" "$(faults_of hot.data | sum)" \
		"$(grep -E '^main;(.*;)?save;touch ' all.across | sum)"

	# Segments that the first sample at some depth has brought: it is that of load().
	faults only.data --only="save << down"
	is "deep stacks are whole" "$(stat_of only.data exact)" "$(stat_of only.data samples)"
	is "with all frames" "$(stat_of only.data max_depth)" "$(stat_of all.data max_depth)"

	for e in "save << down" "both < all" "load"; do
		faults hot.data --hot --only="$e"
		grep -E -e "$(pattern_of "$e")" all.counts >wanted.counts
		is "$e: --hot has the same counts" "$(diff wanted.counts <(faults_of hot.data) | cut -c 1-200 | head -n 5)" ""
		every_context_matches "$e, --hot" hot.data "$e"
		check "$e: --hot: what is not taken is accounted for" samples_add_up hot.data
		is "$e: N is the weight of the others" "$(stat_of hot.data hot_n)" "$(stat_of hot.data taken)"
	done
	check "weights" timeout 300 pcce-record -q -b bpf -e page-faults -c 3 --only=load -o only.data -- ./shapes 20 ./library.so
	is "weights: those of samples that are left out are known" "$(stat_of only.data left_out_weight)" \
		"$((3 * $(stat_of only.data left_out)))"

	check "a longer program is built" build "$top/tests/e2e/hot/faults.c" -o faults
	for n in "200 60" "1500 20"; do
		command=(./faults "${n% *}" "${n#* }" 40)
		faults all.data
		for e in "touch << right < left < work" "left < work_less" "right < right << left" "work"; do
			faults only.data --only="$e"
			is "$n, $e: the same counts" "$(diff <(faults_of all.data | grep -E -e "$(pattern_of "$e")") \
				<(faults_of only.data) | cut -c 1-200 | head -n 5)" ""
			check "$n, $e: what is not taken is accounted for" samples_add_up only.data
		done
	done

	# Libraries that follow each other at one place.
	for i in 1 2; do
		check "library $i is built" build -fPIC -shared -DLIBRARY=$i "$top/tests/e2e/hot/swap.c" -o swap$i.so
	done
	check "their program is built" build -fPIE -pie -rdynamic "$top/tests/e2e/hot/swap.c" -ldl -o swap
	command=(./swap 6)
	in_library() { pcce-report -q -i only.data --format=folded | grep "^main;.*fault_$1" | sum; }
	for i in 1 2; do
		faults only.data --only="fault_$i"
		is "libraries: none is left out" "$(in_library $i)" 300
		is "libraries: none gets the other's" "$(in_library $((3 - i)))" 0
		check "libraries: what is not taken is accounted for" samples_add_up only.data
	done

	./shapes 100000 ./library.so &
	shapes=$!
	rm -f only.data
	timeout 600 pcce-record -q -b bpf -F 2000 --only="save << thread" -o only.data -p $shapes 2>attach.err &
	recorder=$!
	wait_for_samples only.data 50
	kill -INT $recorder
	wait $recorder
	pkill -P $shapes # the forked one
	kill $shapes
	wait $shapes 2>/dev/null
	check "-p: there are samples" [ "$(stat_of only.data samples)" -ge 10 ]
	every_context_matches "-p" only.data "save << thread"
	check "-p: what is not taken is accounted for" samples_add_up only.data
else
	skip "page faults" "the bpf sampler: $bpf_reason"
fi

# ---- samples in time -----------------------------------------------------------------------

# only SAMPLER DATA EXPRESSION OPTION...: records 4,000 samples a second
only() {
	local sampler=$1 data=$2 e=$3
	shift 3
	timeout 300 pcce-record -b "$sampler" -F 4000 --only="$e" "$@" -o "$data" -- ./shapes 2000 ./library.so \
		>"$data.out" 2>&1
}

samplers=(self)
has_bpf && samplers+=(bpf)
for sampler in "${samplers[@]}"; do
	for e in "save" "load << thread" "both < down << child" "compare << sort" "load < on_signal" "again < again" \
		"save << library_calls"; do
		only "$sampler" only.data "$e"
		check "$sampler: $e: there are samples" [ "$(stat_of only.data samples)" -ge 3 ]
		check "$sampler: $e: others are left out" [ "$(stat_of only.data left_out)" -ge 10 ]
		every_context_matches "$sampler: $e" only.data "$e"
		check "$sampler: $e: what is not taken is accounted for" samples_add_up only.data
		# A context has the weight of its samples: also that of samples that were merged.
		check "$sampler: $e: what is not known is counted" \
			[ "$(grep -Ev -e "$(pattern_of "$e")" contexts.out | sum)" -le \
				$(($(stat_of only.data only_unknown) + $(stat_of only.data merged))) ]
	done
done
only self only.data "save << down" --verify
is "--verify: no context differs from the stack" "$(stat_of only.data mismatches)" 0
check "--verify: samples are verified" [ "$(stat_of only.data verified)" -ge 3 ]
every_context_matches "--verify" only.data "save << down"

check "a program that sorts is built" build "$top/tests/workloads/qsort.c" -o sorts
for sampler in "${samplers[@]}"; do
	timeout 300 pcce-record -q -b "$sampler" -F 3000 --frames=foreign --only=sort_row -o frames.data -- \
		./sorts >/dev/null 2>frames.err
	check "$sampler: --frames: frames are restored" [ "$(stat_of frames.data restored)" -ge 20 ]
	is "$sampler: --frames: none is wrong" "$(stat_of frames.data restored_wrong)" 0
	every_context_matches "$sampler: --frames" frames.data "sort_row"
	check "$sampler: --frames: what is not taken is accounted for" samples_add_up frames.data
done

# ---- the same samples ----------------------------------------------------------------------

build_with_tools replay -O2 "$top/tests/datafile/replay.c"

# Prints expressions about functions of these files that follow each other in the contexts, and some
# that do not: lines of the format folded.
make_expressions() {
	for file; do pcce-encode --dump --verbose "$file"; done | awk -v seed=7 '
		NR == FNR { if (/^0x/ && $2 ~ /^[a-z0-9_]+$/) known[$2] = 1; next }
		BEGIN { srand(seed) }
		/\[(truncated|undecodable)/ { next }
		{ sub(/ [0-9]*$/, ""); line[n++] = $0 }
		END {
			for (e = 0; n && e < 200; e++) {
				m = split(line[int(rand() * n)], frame, ";")
				at = 1 + int(rand() * m)
				if (!known[frame[at]]) continue
				text = frame[at]
				for (parts = int(rand() * 4); parts && at < m; parts--) {
					far = rand() < 0.4
					to = at + 1 + (far ? int(rand() * 4) : 0)
					if (to > m || !known[frame[to]]) break
					# Sometimes it is wrong.
					text = frame[to] (far && rand() < 0.8 ? " << " : " < ") text
					at = to
				}
				if (!seen[text]++) print text
			}
		}' - <(contexts all.data) | head -n 6
}
unmarked() { contexts "$1" | grep -Ev '\[(truncated|undecodable)'; }
for workload in recursion mutual segments deep_irregular signals qsort threads fork longjmp; do
	build "$top/tests/workloads/$workload.c" -o "$workload" >build.out 2>&1 || not_ok "$workload is built" build.out
	frequency=4000 record "${samplers[-1]}" all.data "./$workload"
	unmarked all.data >all.counts
	make_expressions "$workload" >expressions
	check "$workload: there are contexts and expressions" [ "$(wc -l <expressions)" -ge 5 ]
	wrong=()
	while read -r e; do
		./replay only="$e" all.data only.data 2>replay.err || wrong+=("$e: $(cat replay.err)")
		grep -E -e "$(pattern_of "$e")" all.counts >wanted.counts
		diff wanted.counts <(unmarked only.data) >differences || wrong+=("$e" "$(cut -c 1-200 differences | head -n 3)")
		[ $(($(stat_of only.data taken 2>/dev/null) + $(stat_of only.data left_out))) = "$(stat_of all.data taken)" ] ||
			wrong+=("$e: samples are missing")
	done <expressions
	is "$workload: what matches is kept, and nothing else" "${wrong[*]}" ""
done

# ---- tail calls ----------------------------------------------------------------------------

# agree NAME EXPRESSION...: what matches in all.data is kept; what else is kept is not known
agree() {
	local name=$1 e wrong=()
	shift
	unmarked all.data >all.counts
	for e; do
		./replay only="$e" all.data only.data 2>replay.err || wrong+=("$e: $(cat replay.err)")
		unmarked only.data >only.counts
		grep -E -e "$(pattern_of "$e")" all.counts >wanted.counts
		diff wanted.counts <(grep -E -e "$(pattern_of "$e")" only.counts) >differences ||
			wrong+=("$e: $(cut -c 1-200 differences | head -n 3)")
		[ "$(grep -Ev -e "$(pattern_of "$e")" only.counts | sum)" -le "$(stat_of only.data only_unknown)" ] ||
			wrong+=("$e: others are kept")
	done
	is "$name: what matches is kept, and what is not known" "${wrong[*]}" ""
}

# kept EXPRESSION: samples of touch() that are kept, and those of them that are unknown
kept() {
	./replay only="$1" all.data only.data 2>replay.err
	echo "$(faults_of only.data | sum) $(stat_of only.data only_unknown)"
}

check "a library with tail calls is built" build -fPIC -shared -Wl,--unresolved-symbols=ignore-all \
	"$top/tests/e2e/only/tail_library.c" -o tail_library.so
check "its program is built" build -rdynamic "$top/tests/e2e/only/tail.c" ./tail_library.so -o tail
if has_bpf; then
	command=(./tail 100)
	faults all.data
	is "functions that tail calls have left are instrumented" "$(contexts all.data | grep -c 'not instrumented')" 0
	is "all that must have been left are there" "$(faults_of all.data)" "main;outer_chain;first;second;one;touch 50
main;outer_chain;first;second;two;touch 50
main;outer_leave;leave;inner;touch 100
main;outer_passed;pass_on;leave_later;one;touch 50
main;outer_passed;pass_on;leave_later;two;touch 50"
	# "one << second": by_pointer() could be second(). "inner < leave": others may be between.
	is "what is certain, and what is not known" "$(for e in leave first second by_pointer "inner < leave" \
		"inner << outer_leave" "one << second" "touch << main"; do echo "$e: $(kept "$e")"; done)" \
		"leave: 300 200
first: 300 200
second: 300 200
by_pointer: 300 300
inner < leave: 100 100
inner << outer_leave: 100 0
one << second: 100 50
touch << main: 300 0"
	agree "tail calls" leave first "first << outer_chain" "one < second" "one << first" "second < first" \
		"inner < outer_leave" "touch < inner < leave < outer_leave"
fi
for seed in 1 6 ${PCCE_TEST_LONG:+4 7 8}; do
	mkdir -p random-$seed
	if ! "$out/tests/oracle/generate" $seed random-$seed c 2>build.out ||
		! build -w -fPIC -shared random-$seed/lib.c -o random-$seed/librandom.so >>build.out 2>&1 ||
		! build -w random-$seed/main.c random-$seed/other.c random-$seed/librandom.so -o random-$seed/random \
			>>build.out 2>&1; then
		not_ok "random program $seed is built" build.out
		continue
	fi
	frequency=4000 record "${samplers[-1]}" all.data "./random-$seed/random" 2000
	expressions=()
	while read -r e; do expressions+=("$e"); done < <(make_expressions random-$seed/random random-$seed/librandom.so)
	check "random program $seed: there are expressions" [ ${#expressions[@]} -ge 5 ]
	agree "random program $seed" "${expressions[@]}"
done

# ---- reports -------------------------------------------------------------------------------

only self only.data "save << down" --verify
kept=$(stat_of only.data taken) left_out=$(stat_of only.data left_out)
pcce-report -i only.data --stdio >tree.out 2>&1
check "the tree tells the expression and how many match" \
	grep -qF "recorded with --only='save << down': $kept of $((kept + left_out)) samples match" tree.out
check "JSON tells it" grep -qF "\"only\":\"save << down\",\"only_unknown\":$(stat_of only.data only_unknown),\"left_out\":$left_out," \
	<(pcce-report -i only.data --format=json)
check "recordings of one expression are merged" pcce-merge -q -o merged.data only.data only.data
is "and what was left out adds up" "$(stat_of merged.data only) $(stat_of merged.data left_out)" \
	"save << down $((2 * left_out))"
check "as does what is not taken" samples_add_up merged.data
only self other.data "load"
is "other recordings are not merged" "$(pcce-merge -q -o bad.data only.data other.data 2>&1)" \
	"pcce-merge: cannot merge only.data and other.data: they were recorded with different expressions of --only; merge recordings of one expression"
check "and a comparison warns" grep -q '^pcce-diff: warning: only.data and other.data were recorded with different' \
	<(pcce-diff only.data other.data 2>&1 >/dev/null)
is "but not of one expression" "$(pcce-diff only.data only.data 2>&1 >/dev/null)" ""
for format in $(formats); do
	check "$format shows such a recording" pcce-report -q -i only.data --format=$format -o format.out
done

pcce-record -q -b self --only="save << down" -o killed.data -- ./shapes 6000 ./library.so >/dev/null 2>&1 &
recorder=$!
wait_for_samples killed.data 10
kill -9 $recorder
wait $recorder 2>/dev/null
is "a recorder that is killed has written the expression" "$(stat_of killed.data only)" "save << down"

# ---- mistakes ------------------------------------------------------------------------------

is "bad options are refused" "$(for option in "--only=" "--only=f <" "--only=<< f" "--only=a < b < c < d < e < f < g < h"; do
	pcce-record "$option" -o bad.data -- true 2>&1 | head -n 1
done)" "pcce-record: cannot select contexts by '': a function is missing; write 'f < g'
pcce-record: cannot select contexts by 'f <': a function is missing; write 'f < g'
pcce-record: cannot select contexts by '<< f': a function is missing; write 'f < g'
pcce-record: cannot select contexts by 'a < b < c < d < e < f < g < h': it has more than 7 functions; leave some out with '<<'"
pcce-record --only='f <' -o bad.data -- true >/dev/null 2>&1
is "with the status of a wrong command line" $? 64
check "calls are counted in all contexts" grep -q '^pcce-record: cannot use --count with --only' \
	<(pcce-record --count --only=save -o bad.data -- ./shapes 1 ./library.so 2>&1)
is "none of these wrote a recording" "$(ls bad.data 2>&1)" "ls: cannot access 'bad.data': No such file or directory"
only self only.data "nobody << main"
check "a function that no module has: a warning" grep -qxF \
	"pcce-record: warning: no context can match --only: no function is called 'nobody'" only.data.out
is "all samples are left out, but for those that are not known" "$(stat_of only.data taken)" \
	"$(stat_of only.data only_unknown)"
# shellcheck disable=SC2046 # a list
check "a library that is not encoded is built" \
	$CC -O2 $(pcce-config --cflags) -fPIC -shared "$top/tests/e2e/only/library.c" -o bare.so
timeout 300 pcce-record -b self --only=library_step -o only.data -- ./shapes 20 ./bare.so >only.data.out 2>&1
is "a function that only this library has: no such warning" "$(grep -c 'no context can match' only.data.out)" 0
check "and accounted for" samples_add_up only.data
check "a program without such samples is built" build "$top/tests/workloads/recursion.c" -o recursion
timeout 300 pcce-record -b self --only="start_again < start_again" -o only.data -- ./recursion >only.data.out 2>&1
is "nothing matches: a warning" "$(grep -c '^pcce-record: warning: no samples: none of their contexts matches --only' only.data.out)" 1

# Why nothing matches.
cat >why.c <<'END_OF_C'
#include <pthread.h>
#include <stdlib.h>
#define NOIPA __attribute__((noipa))
static volatile unsigned int sum;
static inline __attribute__((always_inline)) void folded(void) { for (unsigned int i = 0; i < 40000; i++) sum += i; }
NOIPA void work_hard(void) { folded(); sum++; }
NOIPA void *worker(void *arg) { for (int i = 0; i < 1500; i++) work_hard(); return arg; }
NOIPA void start(void) { pthread_t t; if (pthread_create(&t, NULL, worker, NULL)) abort(); pthread_join(t, NULL); }
NOIPA void never(void) { work_hard(); sum++; }
int main(int argc, char **argv) { if (argc > 9) never(); start(); return argv[0] == NULL; }
END_OF_C
check "a program is built" build why.c -o why
# reason EXPRESSION: what the recorder says, without the path of a file
reason() {
	timeout 300 pcce-record -b self -F 2000 --only="$1" -o why.data -- ./why 2>&1 |
		sed -n "s/^pcce-record: warning: \(no context can match\|no samples: none of their contexts matches\) --only: //p" |
		sed 's#[^ ]*/\([^/ ]*\)#\1#g'
}
is "it is said why" "$(for e in "work_herd" folded "qsort << main" "work_hard << main" \
	"work_hard < worker << start < main" "worker < work_hard" "never" "work_hard << never"; do reason "$e"; done)" \
	"no function is called 'work_herd'; similar names are: work_hard, worker
'folded' was inlined into its callers everywhere in why; name a caller, or build it with __attribute__((noinline))
'qsort' is a function of libc.so.6, which was not built with pcce; name its caller
the callers are in the thread that created the sample's; write 'work_hard <<< main'
the callers are in the thread that created the sample's; write 'work_hard < worker <<< start < main'
samples were in all of its functions, but none of them called the others like that; callees come first, and << allows calls between
no sample was in 'never' or in what it calls
no sample was in 'never' or in what it calls"
is "and not where something matches" "$(for e in "work_hard <<< main" "work_hard << worker" "work*"; do reason "$e"; done)" ""
check "a program without debug information is built" build -g0 why.c -o why
is "then inlined functions are not known" "$(reason folded)" "no function is called 'folded'"
pcce-report -i only.data --stdio >/dev/null 2>nothing.err
check "a report tells that nothing matched" grep -q 'only.data contains no samples: .* or nothing matched --only' nothing.err
done_testing

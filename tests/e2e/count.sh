#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
# seconds: 1500
#
# pcce-record --count: the counts of all contexts against true ones.  The single-stepper
# (tests/oracle) counts the entries into functions as it sees them executed.  Programs with signals
# at any instruction, and with threads, count their calls themselves.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
cd "$scratch" || exit 1
step=$out/tests/oracle/step
counted=$out/tests/oracle/counted

# count PROGRAM ARGUMENT...: counts in PROGRAM.data, and writes PROGRAM.got.  The variable `options`
# has options of pcce-record.
count() {
	rm -f "$1.data"
	# shellcheck disable=SC2086
	timeout -k 5 300 pcce-record --count ${options-} -o "$1.data" -- "./$1" "${@:2}" >"$1.out" \
		2>"$1.err" </dev/null
	echo $? >"$1.status"
	"$counted" "$1.data" "./$1" | grep -v '^0 \[' | awk '{ n[$2] += $1 }
		END { for (context in n) print n[context], context }' | sort >"$1.got"
}

# compare_counts NAME PROGRAM ARGUMENT...
compare_counts() {
	local name=$1 program=$2 status
	shift 2
	timeout -k 5 300 "./$program" "$@" >"$program.plain" 2>/dev/null </dev/null
	status=$?
	timeout -k 5 900 "$step" -o step.out --counts "$program.true" "./$program" "$@" \
		>/dev/null 2>&1 </dev/null
	sort "$program.true" >"$program.wanted"
	count "$program" "$@"
	is "$name: status" "$(cat "$program.status")" "$status"
	is "$name: output" "$(cat "$program.out")" "$(cat "$program.plain")"
	if [ -s "$program.wanted" ] && cmp -s "$program.got" "$program.wanted"; then
		ok "$name: $(wc -l <"$program.wanted") contexts have their true counts"
	else
		diff "$program.got" "$program.wanted" | cut -c1-200 >difference
		not_ok "$name: contexts have their true counts" difference step.out "$program.err"
	fi
}

# counts_are_true WORKLOAD FLAG...
counts_are_true() {
	local program=$1 source
	source=$(echo "$workloads/$program".c*)
	shift
	if build "$program" "$source" "$@" -DPCCE_STEPPED; then
		compare_counts "$program $*" "$program"
	else
		not_ok "$program $*: builds" build.log
	fi
}

# counts_of_random SEED LANGUAGE FLAG...: of a random program (tests/oracle/generate)
counts_of_random() {
	local seed=$1 language=$2 compiler=$CC
	shift 2
	[ "$language" = c ] || compiler=$CXX
	rm -rf random
	mkdir random
	# shellcheck disable=SC2046 # lists of flags
	if "$out/tests/oracle/generate" "$seed" random "$language" >build.log 2>&1 &&
		$compiler -x "$language" -w -g "$@" $(pcce-config --cflags) random/*.c -x none \
			$(pcce-config --ldflags) -o random_calls >>build.log 2>&1 &&
		$compiler -x "$language" -w "$@" random/*.c -o plain_calls >>build.log 2>&1; then
		is "random $seed: output with slots" "$(timeout 300 ./random_calls 3)" \
			"$(timeout 300 ./plain_calls 3)"
		compare_counts "random $seed $language $*" random_calls 3
	else
		not_ok "random $seed $language $*: builds" build.log
	fi
}

for workload in asm_calls cancel exceptions fork indirect longjmp origins recursion replaced setjmp \
	signal_kinds tailcalls threads ${PCCE_TEST_LONG:+many_threads mutual}; do
	counts_are_true $workload -O2
done
counts_are_true recursion -O2 -static
for seed in 1 3 ${PCCE_TEST_LONG:+2 4}; do
	counts_of_random $seed c -O2
	counts_of_random $seed c++ -O$seed
	counts_of_random 1$seed c -O$((seed % 3)) -no-pie -fno-pie
done

# The program prints how often it entered functions, as "FUNCTION COUNT".
#
# A handler may interrupt a push into the last place of a segment.  Then its calls are marked as
# "restoring" (lib/decode/locate.c).  It is not known how many of them are a function's.  The slower
# the machine, the more alarms come for each call.
# calls_add_up NAME PROGRAM
calls_add_up() {
	local function calls got all marked
	check "$1: nothing is lost" bash -c "! grep -q '\\[lost\\]' '$2.got'"
	check "$1: all contexts are exact" bash -c "! grep -Ev '\[restoring\]' '$2.got' | grep -q '\[[^s]'"
	read -r all marked < <(awk '{ all += $1 } /\[restoring\]/ { marked += $1 }
		END { print all, marked + 0 }' "$2.got")
	check "$1: $marked of $all are marked, at most one in 200" [ "$marked" -le $((all / 200)) ]
	while read -r function calls; do
		got=$(awk -v f="$function" '
			{ n = split($2, frames, /[;:]/); if (frames[n - 2] == f) sum += $1 }
			END { print sum + 0 }' "$2.got")
		check "$1: $function is entered $calls times, of them $((calls - got)) marked" \
			[ "$got" -le "$calls" -a "$((got + marked))" -ge "$calls" ]
	done <"$2.out"
}

# Signals arrive at any instruction, also of the counting code. Each handler comes in a new context.
check "signals: builds" build interrupted "$here/interrupted.c" -O1
count interrupted
calls_add_up signals interrupted

check "each instruction: builds" build stepped "$here/stepped.c" -O1
for every in 1 7; do
	count stepped $every
	calls_add_up "after each $every instructions" stepped
	count stepped $every jump
	calls_add_up "after each $every instructions, with jumps" stepped
done
# All contexts have a counter.
for engine in hcct lossy; do
	for jump in "" jump; do
		options="--engine=$engine --hot=0.000001" count stepped 7 $jump
		calls_add_up "after each 7 instructions, $engine${jump:+, with jumps}" stepped
	done
done

check "threads: builds" build many "$here/many.c" -O1 -pthread
count many
calls_add_up threads many

# ---- what the tools make of it --------------------------------------------------------

is "pcce-report knows the calls" "$(stat_of many.data taken)" "$((2 * 40 * 52500 + 41))"
check "pcce-report shows them" bash -c \
	"pcce-report -i many.data --format=folded | grep -q '^body;f;f;f;leaf [0-9]*$'"
check "pcce-compare finds a recording like itself" pcce-compare many.data many.data
# Each depth of a recursion is a context.
cat >deep.c <<'END'
__attribute__((noinline)) static int depth(int n)
{
	return n ? depth(n - 1) + 1 : 0;
}
int main(void)
{
	return depth(99) - 99;
}
END
check "recursion: builds" build deep deep.c -O1 -fno-optimize-sibling-calls
record_counts deep.data "" ./deep
is "pcce-compare tells depths of recursion apart" \
	"$(pcce-compare deep.data deep.data | sed -n 's/^exact_hot: //p')" 101

# A stack of 100,000 calls: each has a context of its own, which contains all others.
check "deep stacks: builds" build irregular "$here/irregular.c" -O2
record_counts irregular.data "" ./irregular 60000
n=$(cat irregular.data.out)
check "deep stacks: there are 100,000 calls" [ "$n" -ge 95000 ]
is "deep stacks: each call is a context" \
	"$(for i in taken exact unique_contexts max_depth; do stat_of irregular.data $i; done | uniq -c | xargs)" "4 $n"
is "deep stacks: all calls are in the tree" \
	"$(pcce-report -q -i irregular.data --format=flat | awk '$1 ~ /%/ { n += $3 } END { print n }')" "$n"

pcce-record --count --engine=empty -o empty.data -- ./many >empty.out 2>empty.err
is "the empty engine: output" "$(cat empty.out)" "$(cat many.out)"
is "the empty engine counts nothing" "$(stat_of empty.data taken)" 0

# A function is entered as a whole: not in what is inlined at its beginning.
cat >inlined.c <<'END'
static inline __attribute__((always_inline)) int first(int n)
{
	return n * n * 3;
}
__attribute__((noinline)) static int outer(int n)
{
	return first(n) + 1;
}
int main(int argc, char **argv)
{
	(void)argv;
	return outer(argc) - 4;
}
END
check "inlined: builds" build inlined inlined.c -O1
count inlined
is "inlined: the function is entered" "$(pcce-report -q -i inlined.data --format=folded)" "main 1
main;outer 1"

# ---- refusals ------------------------------------------------------------------------

refuses() { # NAME TEXT COMMAND...
	local name=$1 text=$2
	shift 2
	if "$@" >refusal 2>&1; then
		not_ok "$name" "$* succeeds"
	else
		check "$name" grep -q -e "$text" refusal
	fi
}
echo 'int main(void) { return 0; }' >plain.c
"$CC" plain.c -o plain
refuses "a program without pcce" "was not built with pcce" pcce-record --count ./plain
refuses "a program that is not there" "cannot run ./none" pcce-record --count ./none
refuses "a running process" "cannot use --count with -p" pcce-record --count -p $$
refuses "an unknown engine" "must be cct, hcct, lossy or empty" pcce-record --count --engine=none ./many
refuses "an engine alone" "without --count" pcce-record --engine=cct ./many

done_testing

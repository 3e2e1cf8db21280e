#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 120
#
# pcce-record --latency: how long executions of functions took.  The program knows how many there
# were, how they ended, and two times between which the durations are.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
cd "$scratch" || exit 1
source=$top/tests/e2e/latency/timed.cc

# record NAME OPTIONS COMMAND...
record() {
	local name=$1 options=$2
	shift 2
	# shellcheck disable=SC2086
	timeout -k 5 60 pcce-record -q $options -o "$name.data" -- "$@" >"$name.out" 2>"$name.err" \
		</dev/null
	echo $? >"$name.status"
	pcce-report -q -i "$name.data" --format=latency --min-percent=0 >"$name.text" 2>"$name.report"
}
# report NAME: the numbers that the report has of the first function, as the program prints them
ends() {
	awk '/more executions of/ { no_end = $1 } /left by a jump/ { left = $1 }
		/had not ended/ { running = $1 } NR == 2 { ended = $1 }
		END { printf "ended %d\nno_end %d\nleft %d\nrunning %d\n", ended, no_end, left, running }' \
		"$1.text"
}
# ns NAME CONTEXT: the total of a context
ns() {
	awk -v context="$2" '$0 ~ context "$" {
		unit["ns"] = 1; unit["µs"] = 1e3; unit["ms"] = 1e6; unit["s"] = 1e9
		printf "%d\n", $2 * unit[$3]; exit }' "$1.text"
}
# counts NAME [OPTION...]: the calls of spin() by context
counts() {
	local name=$1
	shift
	pcce-report -q -i "$name.data" --event=0 --format=folded "$@" | grep 'spin [0-9]*$' | sort
}

for flags in -O2 "-O1 -fno-omit-frame-pointer" "-O3 -static" "-O2 -no-pie" -O0 \
	"-O2 -fcf-protection=full"; do
	# shellcheck disable=SC2086
	if ! build timed "$source" $flags -pthread; then
		not_ok "$flags: the program is built" build.log
		continue
	fi
	record timed --latency=spin ./timed
	is "$flags: status" "$(cat timed.status)" 3
	is "$flags: executions, by how they end" "$(ends timed)" "$(cat timed.out)"
	is "$flags: nothing else is said" "$(grep -v '^inside\|^around' timed.err)" ""
	inside=$(awk '/^inside/ { print $2 }' timed.err)
	around=$(awk '/^around/ { print $2 }' timed.err)
	total=$(ns timed 'measured[^ ]* → spin')
	# The report has three digits.
	check "$flags: the total $total is between $inside and $around ns" \
		[ $((total >= inside - inside / 50 && total <= around + around / 50)) = 1 ]
	record all --count ./timed
	is "$flags: the counts are those of --count" "$(counts timed)" "$(counts all)"
done

check "the program is built" build timed "$source" -O2 -pthread
record two --latency=other,spin ./timed
is "two functions: each has a table" "$(grep -c '^ *count ' two.text)" 2
check "two functions: one that only pointers lead to" grep -q ' other$' two.text
is "two functions: no one takes the other's end" \
	"$(awk '/  other$/ { print $1 }' two.text)" "$(pcce-report -q -i all.data --format=folded | awk '/;other [0-9]*$/ { n += $NF } END { print n }')"

record beside "--latency=spin -F 4999 -b self --verify" ./timed
is "samples beside: status" "$(cat beside.status)" 3
is "samples beside: executions, by how they end" "$(ends beside)" "$(cat beside.out)"
pcce-report -q -i beside.data --event=1 --stats >beside.stats
is "samples beside: no context differs from the real stack" \
	"$(sed -n 's/^mismatches: //p' beside.stats)" 0

# Guards by a recording: of a call and of a tail call.
check "guarded: the program is built" build guarded "$top/tests/e2e/latency/guarded.c" -O2
pcce-record -q -b self -F 4999 -o guarded.data ./guarded 1000000 >/dev/null 2>log
check "guarded: it is encoded by a recording" pcce-encode --profile=guarded.data guarded
is "guarded: it has guards" "$(pcce-encode --dump guarded | grep -c '^guards.*: [1-9]')" 2
record guarded --latency=mostly,seldom ./guarded 10000
is "guarded: all executions end" "$(awk '/ (mostly|seldom)$/ { print $1, $NF }
	/more/ && !/contexts/' guarded.text)" "18000 mostly
9000 mostly
9000 mostly
2000 seldom
1000 seldom
1000 seldom"

# Signals at any instruction, also of the engine and its stubs, while the handler is timed, too.
check "the program is built" build interrupted "$top/tests/e2e/latency/interrupted.cc" -O2
record interrupted "--latency=leaf -F 4999 -b self --verify" ./interrupted 50000
is "interrupted: status" "$(cat interrupted.status)" 0
is "interrupted: output" "$(cat interrupted.out)" 5000000
pcce-report -q -i interrupted.data --event=1 --stats >interrupted.stats
# While a jump lands, no context is known.
is "interrupted: all other samples are decoded" \
	"$(grep '^undecodable_' interrupted.stats | grep -v restoring)" ""
check "interrupted: there are samples" [ "$(sed -n 's/^samples: //p' interrupted.stats)" -ge 20 ]

record none --latency=nothing ./timed
check "a function that does not exist is refused" grep -q "has no function 'nothing'" none.err
is "a function that does not exist: status" "$(cat none.status)" 1
check "other engines are refused" \
	grep -q 'cannot use --latency with --engine' <(pcce-record --latency=spin --engine=hcct ./timed 2>&1)
pcce-report -q -i all.data --format=latency >no.text
is "a recording without durations: a headline only" "$(grep -c . no.text)" 1
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures the runtime's work at rare events: the CPU time of loops of one event each
# (rare/events.c, rare/throws.cc), encoded over not instrumented.  The loop `calls` has no such
# event, so only its slots cost time.  tests/plugin asserts that an object without setjmp and
# landing pads has nothing else.
#
#   bench/rare.sh [EVENT...]     BLOCKS=8

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
: "${BLOCKS:=8}"
results=$out/bench/rare
mkdir -p "$results"
compile_tool measure
compile_tool ratios -lm

# Each line: event, number of repetitions, program, argument.
events="calls 20000000 events calls
signals 150000 events signals
threads 8000 events threads
setjmp 10000000 events setjmp
longjmp 1500000 events longjmp
callbacks 2000 events callbacks
switches 300000 events switches
forks 1000 events forks
dlopen 8000 events dlopen
throw 200000 throws 0
throw-10 30000 throws 10
throw-100 3000 throws 100"

read -ra flags_c <<<"$(pcce-config --cflags)"
read -ra flags_ld <<<"$(pcce-config --ldflags)"
for p in events.c throws.cc; do
	compiler=$CC
	[ $p = events.c ] || compiler=$CXX
	$compiler -O2 -g -pthread "$top/bench/rare/$p" -o "${p%.*}-base" &&
		$compiler -O2 -g -pthread "${flags_c[@]}" "$top/bench/rare/$p" "${flags_ld[@]}" \
			-o "${p%.*}-encoded" || exit 1
done
ln -s events-base events-again
ln -s throws-base throws-again

: >measured
while read -r event count program argument; do
	[ $# = 0 ] || case " $* " in *" $event "*) ;; *) continue ;; esac
	for c in base again encoded; do
		printf '%s\t1\t%s/%s-%s %s %s\n' \
			"$c" "$scratch" "$program" "$c" "$argument" "$count"
	done >commands
	"$out/bench/measure" "$BLOCKS" "$scratch/own" <commands >rows || exit 1
	sed "s/^/$event,/" rows >>measured
done <<<"$events"
"$out/bench/ratios" base <measured >"$results/rare.csv" || exit 1
printf '%-12s %10s %21s %12s\n' event encoded "95% interval" again
awk -F , '
	$1 !~ /^\(/ && $2 == "again" { again[$1] = $6 }
	$1 !~ /^\(/ && $2 == "encoded" {
		printf "%-12s %10.2f %12.2f - %6.2f %12.2f\n", $1, $6, $7, $8, again[$1]
	}' "$results/rare.csv"
describe_machine

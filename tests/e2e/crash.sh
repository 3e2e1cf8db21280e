#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The crash handler (pcce_crash_report of pcce.h, PCCE_CRASH): reports of programs that have
# overwritten their stacks.  The programs write their chains of calls to a file before.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/core/lib.sh"
cd "$scratch" || exit 1
command -v pkg-config >/dev/null || skip_all "pkg-config is not installed"
export PKG_CONFIG_PATH=$out/lib/pkgconfig
cp "$top"/tests/e2e/core/crashes.c "$top"/tests/e2e/crash/*.c .
ulimit -c 0

# crash COMMAND...: its report is then in the file "report"
crash() {
	rm -f report truth
	# The shell tells of each signal.
	{ PCCE_CRASH=report timeout -k 5 60 "$@" >crash.out 2>crash.err; } 2>/dev/null
	status=$?
}

# crashed_thread: the chain of the thread that crashed
crashed_thread() {
	awk '/^pcce-crash: / { on = / thread [0-9]* crashed/; next } on' "$1" | chain_of_crash
}

all_kinds() { # NAME DEPTH
	local kind plain
	for kind in $kinds; do
		rm -f truth
		{ ./crashes "$kind" "$2" >/dev/null 2>&1; } 2>/dev/null
		plain=$?
		crash ./crashes "$kind" "$2"
		if pcce-decode --crash=report >printed 2>printed.err &&
			crashed_thread printed | cmp -s - truth && [ ! -s printed.err ] &&
			[ $status = $plain ]; then
			ok "$1, $kind: the context is that of the program"
			echo "#   $(wc -l <truth) frames"
		else
			not_ok "$1, $kind: the context is that of the program" printed.err \
				"status $status, without a report $plain" \
				"$(crashed_thread printed | diff - truth | head -n 6)"
		fi
	done
}

for flags in "-O2" "-O2 -static" "-O0 -no-pie -fno-pie"; do
	# shellcheck disable=SC2086
	if build_with_api crashes $flags crashes.c; then
		all_kinds "$flags" 20
	else
		not_ok "$flags: crashes.c is built" crashes.log
	fi
done
build_with_api crashes -O2 crashes.c
all_kinds "-O2, deep" 400
crash ./crashes wild 5
check "a return to no code is marked" grep -q '^pcce-crash: thread [0-9]* crashed at 0x1000, where no' report

# ---- handlers and threads ------------------------------------------------------------------

# run PROGRAM KIND: its report is in "report", its decoded report in "printed"
run() {
	rm -f report printed
	{ timeout -k 5 60 ./"$1" "$2" report >crash.out 2>crash.err; } 2>/dev/null
	status=$?
	[ ! -e report ] || pcce-decode --crash=report >printed 2>printed.err
}
# functions THREAD: of the thread whose line has this text, from the innermost one that has a line
functions() {
	awk -v t="$1" '/^pcce-crash: / { on = index($0, t); next } on && / at .*handlers[.]c:/ { printf "%s%s", n++ ? " < " : "", $2 }' printed
}

for flags in "-O2" "-O2 -static"; do
	# shellcheck disable=SC2086
	build_with_api handlers $flags handlers.c || not_ok "$flags: handlers.c is built" handlers.log
	run handlers earlier
	is "$flags: the handler that was installed before gets the signal" "$status $(cat crash.out)" \
		"42 signal 11, code 1, address 0x8"
	is "$flags: ... after the report" "$(functions crashed)" "fail < main"
	run handlers abort
	is "$flags: so does a handler for abort()" "$status $(cat crash.out)" "42 signal 6, code -6, address (nil)"
	is "$flags: ... after the report" "$(functions crashed | sed 's/[.]cold$//')" "main"
	run handlers trap
	is "$flags: so does one for a breakpoint" "$status $(cat crash.out)" "42 signal 5, code 128, address (nil)"
	run handlers recover
	is "$flags: a program that goes on after a fault" "$status $(cat crash.out)" "0 recovered"
	is "$flags: ... has one report" "$(grep -c crashed report)" 1
	# A machine that stands still for seconds does so for all threads but the clock.
	for _ in 1 2 3 4 5; do
		run handlers threads
		grep -q 'does not answer' report || break
	done
	is "$flags: each thread is in the report" "$(grep -c '^pcce-crash: thread' report) $status" "5 139"
	sed -i 's/^pcce-crash: thread [0-9]*: .*/&,/' printed
	is "$flags: ... with its context" \
		"$(functions , | sed 's/ < begin/ < begin\n/g' | sed 's/^ < //' | sort)" \
		"$(printf '%s\n' 'read_nothing < begin' 'spin < begin' 'spin < block_all < begin' 'wait_for_lock < begin')"
	run handlers both
	is "$flags: of several crashes, one is reported" "$(grep -c crashed report) $status" "1 139"
	run handlers overflow
	is "$flags: a stack that is full" "$(functions crashed | sed 's/\(fall < \)*/fall < /') $status" \
		"fall < overflow < begin 139"
	check "$flags: ... has thousands of calls" grep -q 'fall at .* x [0-9]\{3,\}' printed
	run handlers page
	is "$flags: a damaged thread page is reported" \
		"$status $(sed -n '/#0/,$s/^ *#[0-9]* *//p' printed | sed 's/ at .*//' | tr '\n' ' ')" \
		"139 [signal] fail [undecodable: lost_id] "
	run handlers record
	is "$flags: ... also if the list of threads is damaged" \
		"$status $(sed -n '/#0/,$s/^ *#[0-9]* *//p' printed | sed 's/ at .*//' | tr '\n' ' ')" \
		"139 [signal] fail [undecodable: lost_id] "
done
is "a report that cannot be written changes nothing" \
	"$({ ./handlers earlier /nonexistent/report; } 2>/dev/null)" "signal 11, code 1, address 0x8"
is "a limit of file sizes changes nothing" \
	"$({ (ulimit -f 0 && exec ./handlers earlier limited); } 2>/dev/null)" "signal 11, code 1, address 0x8"
run handlers deaf
is "a thread that does not answer" "$(grep -c 'does not answer' report) $status" "1 139"
# The reader is there before the program, and another writer until the program has ended.
mkfifo report.fifo
exec 9<>report.fifo
exec 8<report.fifo
exec 7>report.fifo 9>&-
head -n 1 <&8 >first &
exec 8<&-
# It has something to say when the reader has left.
{ timeout -k 5 60 ./handlers deaf report.fifo; } 2>/dev/null
status=$?
exec 7>&-
wait $!
is "a reader that leaves changes nothing" "$status $(grep -c 'got signal 11' first)" "139 1"
is "the report can be read only by its owner" "$(stat -c %a report)" 600
: >empty
is "a report without lines" "$(pcce-decode --crash=empty 2>&1)" ""
is "a report that is not there" "$(pcce-decode --crash=none 2>&1)" \
	"pcce-decode: cannot open the dictionary none: No such file or directory"
crash ./crashes null 5
head -c $(($(stat -c %s report) - 30)) report >part
pcce-decode --crash=part >printed 2>printed.err
check "a report that was cut off: one sentence" [ "$(wc -l <printed.err)" = 1 ]
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record --off-cpu and --wall: where threads wait, why, and how long.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "the bpf sampler: $bpf_reason"
# shellcheck disable=SC2046 # lists of flags
build() { $CC -g -O2 $(pcce-config --cflags) "$@" $(pcce-config --ldflags); }
check "the program is built" build "$top/tests/e2e/off-cpu/waits.c" -o waits -lpthread

stacks() {
	pcce-report -q "$@" --format=folded
}
total() {
	awk '{ n += $NF } END { print n + 0 }' "$@"
}

pcce-record -q --off-cpu -o off.data ./waits sleeper holder locker reader diver >threads 2>log
is "--off-cpu records without a warning" "$(cat log)" ""
stacks -i off.data >off.folded
within() { # NAME PATTERN
	check "$1" grep -qE "$2" off.folded
}
within "a sleep" '^run;sleeper;[^;]*nanosleep[^;]*;\[waiting: sleep\];.*nanosleep'
within "a wait for a lock" '^run;locker;[^;]*lock[^;]*;\[waiting: futex\];.*futex_wait'
within "a sleep with the lock" '^run;holder;[^;]*nanosleep[^;]*;\[waiting: sleep\]'
within "a read of a pipe" '^run;reader;[^;]*read[^;]*;\[waiting\];.*pipe_read'
within "main waits for its threads" '^main;[^;]*;\[waiting: futex\]'
within "a child of fork" '^run;reader;[^;]*nanosleep[^;]*;\[waiting: sleep\]'
within "deep recursion" '^run;diver;(deep;){81}[^;]*nanosleep[^;]*;\[waiting: sleep\]'

pcce-report -q -i off.data --stats >stats
stat() {
	sed -n "s/^$1: //p" stats
}
is "due samples are taken, merged or lost" "$(stat due)" \
	"$(($(stat taken) + $(stat merged) + $(stat lost)))"
is "no context is truncated or undecodable" "$(stat truncated) $(stat undecodable)" "0 0"
# Only main waits before the program begins.
check "few samples have no context ($(stat outside))" [ "$(stat outside)" -le 10 ]

# The clocks of the scheduler and of the recorder differ a little at each switch. In a virtual
# machine, the scheduler also counts time that the host took away as time off the CPU.
check "five threads say how long they waited" [ "$(wc -l <threads)" = 5 ]
while read -r kind tid waited; do
	ticks=$(stacks -i off.data --tid="$tid" | grep "^run;$kind;" | total -)
	check "$kind: the sum is what the scheduler says ($ticks ms of $((waited / 1000000)))" \
		awk -v n="$ticks" -v w="$waited" \
		'BEGIN { d = n * 1e9 / 999 - w; most = w / 50 + 2e6; exit !(-d < 5 * most && d < most) }'
done <threads

# A sample is the same wait at any rate.
pcce-record -q --off-cpu -F 100 -o rare.data ./waits sleeper >threads
rare=$(stacks -i rare.data --focus=sleeper | total -)
check "-F 100: a tick each 10 ms ($rare)" [ $((rare >= 80 && rare <= 150)) = 1 ]

# In 15 s, a period of eleven days hardly ever has its tick.
sleepers=$(printf 'sleeper %.0s' {1..15})
# shellcheck disable=SC2086 # a list of words
pcce-record --off-cpu -c 1000000000000000 -o days.data ./waits $sleepers >threads 2>log
pcce-report -q -i days.data --stats >stats
is "a tick is at any place of a long period" "$(stat taken)" 0
check "... and the warning says what to do" grep -q 'waited too little; use a smaller -c' log

pcce-record -q --wall -o wall.data ./waits sleeper runner runner runner runner >threads 2>log
is "--wall records two events" "$(pcce-report -q -i wall.data --event='*' --format=json |
	sed -n 's/.*"event":"\([^"]*\)".*/\1/p' | head -n 1)" "cpu-clock,off-cpu"
check "... time on CPUs" grep -q '^run;runner;.*spin' <(stacks -i wall.data --event=cpu-clock)
check "... and off them" grep -q '^run;sleeper;.*\[waiting: sleep\]' \
	<(stacks -i wall.data --event=off-cpu)
check "... also of threads that lost their CPU" grep -qE '\[preempted\]' \
	<(stacks -i wall.data --event=off-cpu)

# Formats for viewers show both, and waits for as long as they were.
pcce-report -q -i wall.data --format=firefox -o wall.firefox
check "firefox has the reason for a wait as its category" grep -q '"name":"waiting: sleep","color"' wall.firefox
pcce-report -q -i wall.data --format=trace -o wall.trace
wanted=$(stacks -i wall.data --event=off-cpu | grep -F '[waiting: sleep]' | total -)
shown=$(awk -F '"ts":' '/"\[waiting: sleep\]"/ { sum += (/"ph":"E"/ ? 1 : -1) * $2 } END { print int(sum / 1000) }' wall.trace)
check "trace: waits span their time ($shown ms of $wanted)" [ $((shown * 10 > wanted * 8 && shown * 10 < wanted * 13)) = 1 ]
is "trace: time on CPUs" "$(grep -c '"ph":"B","name":"spin"' wall.trace | sed 's/^[1-9].*/some/')" some

# Who waits when the recording ends?
timeout --preserve-status -s INT 2 pcce-record -q --off-cpu -o stuck.data ./waits forever >log 2>&1
check "a wait that does not end is recorded, too" \
	[ "$(stacks -i stuck.data --focus='^forever$' | grep pause | total -)" -ge 500 ]

# A running process.
./waits forever stuck napper >/dev/null &
target=$!
sleep 0.3
pcce-record -q --off-cpu --duration=2 -o live.data -p $target 2>log
is "--duration with -p: exit status" $? 0
is "... the process continues" "$(kill -0 $target && echo yes)" yes
kill $target
wait $target 2>/dev/null
pcce-report -q -i live.data --stats >stats
is "-p: no context is truncated or unknown" "$(stat truncated) $(stat undecodable) $(stat outside)" \
	"0 0 0"
check "-p: a thread that waits all the time" \
	[ "$(stacks -i live.data --focus='^forever$' | grep '^run;forever;.*pause' | total -)" -ge 500 ]
check "-p: ... in a deep context" \
	[ "$(stacks -i live.data | grep -E '^run;stuck;(deep;){101}forever;.*pause' | total -)" -ge 500 ]
check "-p: waits that begin while it records" \
	grep -q '^run;napper;.*\[waiting: sleep\]' <(stacks -i live.data)

pcce-record -q --off-cpu --hot -o hot.data ./waits diver sleeper >threads 2>log
is "--hot: no warning" "$(cat log)" ""
check "--hot" grep -q '^run;sleeper;.*\[waiting: sleep\];.*nanosleep' <(stacks -i hot.data)
pcce-record -q --off-cpu --only='deep << diver' -o only.data ./waits diver sleeper >threads 2>log
is "--only: no warning" "$(cat log)" ""
pcce-report -q -i only.data --stats >stats
is "--only: no context is truncated" "$(stat truncated)" 0
check "--only: what it keeps" grep -q '^run;diver;deep' <(stacks -i only.data)
is "--only: and nothing else" "$(stacks -i only.data | grep -vc '^run;diver;deep')" 0
pcce-merge -q -o twice.data off.data off.data 2>log || not_ok "merge" log
is "a merged recording has twice the time" "$(stacks -i twice.data | total -)" \
	$((2 * $(total off.folded)))
check "pprof has nanoseconds" pcce-report -q -i off.data --format=pprof -o off.pb.gz

# Eight threads whose numbers differ by a multiple of 2,048 have a place.
check "the program is built" build "$top/tests/e2e/off-cpu/crowd.c" -o crowd
./crowd 12 2048
if [ $? = 3 ]; then
	skip "more threads than places" "the kernel does not let clone3() choose a number"
else
	pcce-record --off-cpu -o crowd.data ./crowd 12 2048 >log 2>&1
	is "more threads than places: exit status" $? 0
	check "... a sentence says so" grep -q 'samples were lost, one for each wait: more threads' log
	pcce-report -q -i crowd.data --stats >stats
	check "... their waits are counted ($(stat lost_crowd))" [ "$(stat lost_crowd)" -ge 60 ]
	is "... due samples are taken, merged or lost" "$(stat due)" \
		"$(($(stat taken) + $(stat merged) + $(stat lost)))"
	pcce-record --off-cpu -o crowd.data ./crowd 6 2048 >log 2>&1
	pcce-report -q -i crowd.data --stats >stats
	is "... and all of six have a place" "$(stat lost)" 0
fi

pcce-record -q --duration=0.3 -o part.data ./waits runner >threads 2>log
is "--duration with a command: exit status" $? 0
is "... the command has ended, too" "$(wc -l <threads)" 1
part=$(pcce-report -q -i part.data --format=folded | total -)
check "... and about a third of it is recorded ($part)" [ $((part > 50 && part < 700)) = 1 ]
pcce-record --duration=x ./waits >log 2>&1
is "--duration=x: exit status" $? 64
pcce-record -b self --off-cpu -o none.data ./waits sleeper >log 2>&1
is "-b self cannot: exit status" $? 1
check "... and says so" grep -q '^pcce-record: cannot .*off-cpu.*; ' log
pcce-record -e off-cpu:u -o none.data ./waits sleeper >log 2>&1
check "off-cpu has no modifiers" grep -q 'off-cpu:u has no modifiers' log
done_testing

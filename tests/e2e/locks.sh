#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record -e lock: who waits for locks, and who ends the waits. The programs know which context
# waits for which, and how often.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "the bpf sampler: $bpf_reason"
# shellcheck disable=SC2046 # lists of flags
build() { "$@" -g -O2 $(pcce-config --cflags) $(pcce-config --ldflags) -pthread; }
check "the program is built" build "$CC" "$top/tests/e2e/locks/contend.c" -o contend

ROUNDS=160 # of the program
LEAST=10   # of them; if the machine is busy, a thread often comes too late to wait

pairs() { # RECORDING: one line for each pair: its waits, who waited, who ended it
	pcce-report -q -i "$1" --format=locks --min-percent=0 |
		awk 'NR == 1 { next }
			/%/ { waits = $4; sub(/^ *[^%]*%  *[0-9]*  /, ""); waiter = $0; next }
			{ sub(/^ */, ""); printf "%s\t%s\t%s\n", waits, waiter, $0 }'
}
stat() { # RECORDING KEY
	pcce-report -q -i "$1" --stats --event='*' | sed -n "s/^$2: //p"
}

# One tick for each us: each wait is a sample.
record() { # NAME COMMAND...
	local name=$1
	shift
	pcce-record -q -e lock -c 1000 -o "$name.data" "$@" 2>log >/dev/null || not_ok "$name is recorded" log
	is "$name: no warning" "$(cat log)" ""
	pairs "$name.data" >"$name.pairs"
	is "$name: no context is unknown" \
		"$(stat "$name.data" truncated) $(stat "$name.data" undecodable)" "0 0"
}

# The waits for what the program waits for, not those of its own order.
ended() { # FILE WAITER HOLDER: the number of such waits
	awk -F'\t' -v w="$2" -v h="$3" '$2 ~ w && $3 ~ h { n += $1 } END { print n + 0 }' "$1"
}

record kinds ./contend normal recursive robust pi reader writer cond sem
for kind in normal recursive robust pi reader writer; do
	n=$(ended kinds.pairs "^waiter → ${kind}_want → ${kind}_take_it → " "^holder → ${kind}_give → ")
	all=$(ended kinds.pairs "^waiter → ${kind}_want → ${kind}_take_it → " .)
	check "$kind: rounds wait ($n)" [ $((n >= LEAST && n <= ROUNDS)) = 1 ]
	is "$kind: only the holder ends the waits" "$all" "$n"
done
for kind in cond sem; do
	n=$(ended kinds.pairs "^waiter → ${kind}_want → " "^holder → ${kind}_give → ")
	check "$kind: rounds wait ($n)" [ $((n >= LEAST && n <= ROUNDS)) = 1 ]
	is "$kind: only the other thread ends the waits" \
		"$(ended kinds.pairs "^waiter → ${kind}_want → " .)" "$n"
done
check "each lock names its function of the library" \
	grep -q 'normal_take_it → .*lll_lock_wait' kinds.pairs
check "main waits for its threads, which end" \
	[ "$(ended kinds.pairs '^main → run → ' '^start_thread')" -ge 8 ]
is "taken, merged and lost samples are those that were due" "$(stat kinds.data due)" \
	"$(($(stat kinds.data taken) + $(stat kinds.data merged) + $(stat kinds.data lost)))"

# 16 contexts of up to 76 calls: which one waits decides which one posts. The program prints which
# calls each has.
turns() { # FILE: path of who waits, path of who posts; ? for any other context
	awk -F'\t' '
	function path(text,    i, part, parts, times, p) {
		parts = split(text, part, " → ")
		for (i = 1; i <= parts; i++) {
			times = match(part[i], / × [0-9]+$/) ? substr(part[i], RSTART + length(" × ")) + 0 : 1
			sub(/ × [0-9]+$/, "", part[i])
			for (; times; times--)
				p = p (part[i] == "left" ? "l" : part[i] == "right" ? "r" : "")
		}
		return p in number ? number[p] : "?"
	}
	NR == FNR { split($0, word, " "); number[word[2]] = word[1]; next }
	$2 ~ /wait_turn/ { print path($2), path($3) }' calls "$1" | sort -n
}
awk 'BEGIN { for (i = 0; i < 16; i++) print i, (i * 5 + 3) % 16 }' >expected
./contend paths >calls
record paths ./contend paths
turns paths.pairs >paths.turns
check "paths: each context that waits is ended by that which belongs to it" \
	diff expected paths.turns
check "paths: their stacks have segments" [ "$(pcce-report -q -i paths.data --event=lock --stats |
	sed -n 's/^max_encoding_stack: //p')" -gt 32 ]
if unshare -pf --mount-proc true 2>/dev/null; then
	unshare -pf --mount-proc "$out/bin/pcce-record" -q -e lock -c 1000 -o inside.data \
		./contend paths >log 2>&1 || not_ok "in a pid namespace" log
	pairs inside.data >inside.pairs
	turns inside.pairs >inside.turns
	check "paths: the same in a pid namespace" diff expected inside.turns
	(while [ ! -e stop ]; do ./contend paths >/dev/null; done) &
	unshare -pf --mount-proc "$out/bin/pcce-record" -q -a -e lock -c 1000 -o system.data \
		./contend paths >log 2>&1 || not_ok "the system in a pid namespace" log
	: >stop
	wait $!
	is "threads outside of the namespace are none of the system" "$(stat system.data due)" \
		"$(($(stat system.data taken) + $(stat system.data merged) + $(stat system.data lost)))"
else
	skip "a pid namespace" "unshare(1) cannot make one"
fi

record ends ./contend join death process
check "the end of a thread ends a wait for it" \
	[ "$(ended ends.pairs '→ join_want → ' '^start_thread')" -ge $LEAST ]
check "... and one for its robust lock" \
	[ "$(ended ends.pairs '→ death_want → .*mutex_lock' '^start_thread')" -ge $LEAST ]
check "another process ends a wait" \
	[ "$(ended ends.pairs 'process_want → ' 'process_want → process_give → ')" -ge $LEAST ]

record alone ./contend timed interrupted requeue
for kind in timed interrupted requeue; do
	n=$(ended alone.pairs "→ ${kind}_want → " '^\[no holder')
	check "$kind: rounds wait ($n)" [ "$n" -ge $LEAST ]
	is "$kind: nobody is named" "$(ended alone.pairs "→ ${kind}_want → " .)" "$n"
done

if $CXX -std=c++20 -fsyntax-only "$top/tests/e2e/locks/cxx.cpp" 2>log; then
	check "the program in C++ is built" build "$CXX" -std=c++20 "$top/tests/e2e/locks/cxx.cpp" -o cxx
	record cxx ./cxx
	while read -r what least of; do
		n=$(ended cxx.pairs "$of.*::want\(\)" "$of.*::give\(\)")
		all=$(ended cxx.pairs "$of.*::want\(\)" .)
		check "$what: rounds wait ($n)" [ "$n" -ge "$least" ]
		is "$what: only the other thread ends the waits" "$all" "$n"
	done <<-'END'
		std::mutex 10 contention<std::mutex>
		std::recursive_mutex 10 contention<std::recursive_mutex>
		std::shared_mutex 10 anonymous namespace.::reading
		std::condition_variable 10 anonymous namespace.::signalling
		std::atomic::wait 0 anonymous namespace.::atomic_wait
	END
else
	skip "locks of C++" "$CXX lacks C++20"
fi

# The clock at its usual rate.
pcce-record -q -e lock -o rate.data ./contend normal cond >log 2>&1
is "999 Hz: no warning" "$(cat log)" ""
pairs rate.data >rate.pairs
n=$(ended rate.pairs "^waiter → cond_want → " "^holder → cond_give → ")
check "999 Hz: the number of waits is estimated ($n)" \
	[ $((n >= LEAST && n < ROUNDS * 2)) = 1 ]
of() { pcce-report -q -i rate.data --event="$1" --format=folded; }
check "the event lock has those who wait" grep -q '^waiter;cond_want;' <(of lock)
check "the event lock:holder has those who end the waits" \
	grep -q '^holder;cond_give;' <(of lock:holder)
# In one of 15 runs, two of 400 waits have a sample of the holder alone.  It is not known why.
ticks() { of "$1" | awk '{ n += $NF } END { print n }'; }
check "... for the same time, within a hundredth" \
	[ $((100 * ($(ticks lock) - $(ticks lock:holder)) / $(ticks lock))) = 0 ]
both() { pcce-report -q -i rate.data --event="$1" --holders --format=folded; }
is "--holders: who waited continues with who ended it" \
	"$(both lock | grep -c '^waiter;cond_want;.*;\[ended by\];holder;cond_give;')" 1
is "... and the other way round" \
	"$(both lock:holder | grep -c '^holder;cond_give;.*;\[ended a wait of\];waiter;cond_want;')" 1
is "... no time is lost" "$(both lock | awk '{ n += $NF } END { print n }')" \
	"$(of lock | awk '{ n += $NF } END { print n }')"
is "... each wait has one end" "$(both lock | grep -vc '\[ended by\];')" 0
check "... as a page" pcce-report -q -i rate.data --holders --format=html -o holders.html
check "... with lines" grep -q 'contend.c' \
	<(pcce-report -q -i rate.data --holders --format=tree --by=line 2>&1)
for format in html pprof json; do
	check "--format=$format" pcce-report -q -i rate.data --format=$format -o "out.$format"
done
pcce-merge -q -o twice.data rate.data rate.data 2>log || not_ok "pcce-merge" log
is "a merged recording has twice the time" \
	"$(pcce-report -q -i twice.data --event=lock --format=folded | awk '{ n += $NF } END { print n }')" \
	"$((2 * $(of lock | awk '{ n += $NF } END { print n }')))"
pcce-report -i twice.data --format=locks >log 2>&1
check "... and says that it does not know who ended which wait" grep -q 'no selected sample' log
pcce-report -q -i rate.data --format=locks --comm=none >log 2>&1
check "a filter that selects nothing" [ "$(grep -c → log)" = 0 ]

pcce-record -q -e cpu-clock,lock -o both.data ./contend cond >log 2>&1
is "beside another event: exit status" $? 0
check "... the pairs are there" grep -q 'cond_give' <(pairs both.data)
pcce-record -q -e lock --only='cond_want << waiter' -o only.data ./contend cond >log 2>&1
is "--only: no warning" "$(cat log)" ""
is "--only keeps what fits" \
	"$(pcce-report -q -i only.data --format=folded | grep -vc '^waiter;cond_want')" 0
pcce-record -q -e lock --hot -o hot.data ./contend cond >log 2>&1
check "--hot" grep -q '^waiter;cond_want' <(pcce-report -q -i hot.data --format=folded)

# A thread that waits for ever, in a process that runs already, and one that is interrupted.
./contend stuck >/dev/null &
target=$!
sleep 0.3
pcce-record -q -e lock --duration=1 -o live.data -p $target 2>log
check "-p: both threads of a deadlock" [ "$(pairs live.data | grep -c 'it still waits')" -ge 2 ]
check "-p: ... in their contexts" grep -qE 'stuck_first → (.*)stuck_second' <(pairs live.data)
kill -9 $target
wait $target 2>/dev/null
timeout --preserve-status -s INT 4 pcce-record -q -e lock -o stuck.data ./contend stuck >log 2>&1
check "a deadlock that a signal ends" \
	grep -qE 'stuck_first → (.*)stuck_second' <(pairs stuck.data)
is "... without a context that is unknown" "$(stat stuck.data outside)" 0

./contend stuck >/dev/null &
target=$!
pcce-record -q -e lock -p $target -o killed.data 2>log &
recorder=$!
while [ ! -e killed.data ] && kill -0 $recorder; do sleep 0.1; done
kill -9 $target
wait $recorder
pcce-report -q -i killed.data --stats >stats 2>&1
status=$? # 3: no samples
check "a process that is killed leaves a recording" [ $((status == 0 || status == 3)) = 1 ]
wait $target 2>/dev/null

pcce-record -q -e lock -c 1000 -o crowd.data ./contend crowd >log 2>&1
check "1,000 threads and one lock" grep -q 'crowd_want → .*crowd_want → ' \
	<(pairs crowd.data | tr '\t\n' '  ')
named=$(awk -F'\t' '{ all += $1 } $3 !~ /^\[/ { named += $1 }
	END { print (all && named >= 0.95 * all) }' <(pairs crowd.data))
is "... at least 95% of the waits name who ended them" "$named" 1

pcce-record -b self -e lock -o none.data ./contend cond >log 2>&1
is "-b self cannot: exit status" $? 1
check "... and says so" grep -q '^pcce-record: cannot .*lock.*; ' log
pcce-record -e lock:u -o none.data ./contend cond >log 2>&1
check "lock has no modifiers" grep -q 'lock:u has no modifiers' log
pcce-record -e lock:holder -o none.data ./contend cond >log 2>&1
check "lock:holder alone is refused" grep -q 'use -e lock' log
done_testing

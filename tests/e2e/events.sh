#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record -e with rare events: each of them is a sample, so the numbers are those of the kernel.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "the bpf sampler: $bpf_reason"
# shellcheck disable=SC2046 # lists of flags
build() { $CC -g -O2 $(pcce-config --cflags) "$@" $(pcce-config --ldflags); }
check "the program is built" build "$top/tests/e2e/events/switches.c" -o switches

# weight_in DATA FUNCTION [OPTION...]: the weight of the contexts that contain the function
weight_in() {
	local data=$1 function=$2
	shift 2
	pcce-report -q -i "$data" --format=folded "$@" |
		awk -v f="$function" '";" $0 ~ ";" f "[; ]" { n += $NF } END { print n + 0 }'
}

# ---- numbers that are right by default -------------------------------------------------

# The switches of the exec before and of the exit after it are few.
timeout 300 pcce-record -b bpf -e context-switches -o cs.data -- ./switches 1500 >cs.out 2>cs.err
switches=$(cat cs.out)
weight=$(weight_in cs.data main)
rest=$(weight_in cs.data rest)
lost=$(stat_of cs.data lost)
check "context switches: weights are those of getrusage ($switches, $weight, $lost lost)" \
	[ $((switches - weight - lost)) -le 20 -a $((weight - switches)) -le 20 ]
# A sleep can end before the thread has left the CPU.
check "and nearly each sleep is one ($rest)" [ $((rest + lost)) -ge 1480 ]
is "each is a sample" "$(stat_of cs.data samples)" \
	"$(pcce-report -q -i cs.data --format=folded | awk '{ n += $NF } END { print n }')"

heavy='warning: one sample of context-switches has .*% of the weight: .*; record with -c 1'
pcce-report -i cs.data --stdio >report.out 2>report.err
is "no sample is heavy" "$(grep -c "$heavy" report.err)" 0
timeout 300 pcce-record -q -b bpf -F 99 -e context-switches -o freq.data -- ./switches 200 >freq.out 2>&1
pcce-report -i freq.data --stdio >report.out 2>report.err
is "with -F the kernel guesses, and the report says so" "$(grep -c "$heavy" report.err)" 1
pcce-report -q -i freq.data --stdio >report.out 2>report.err
is "not with -q" "$(cat report.err)" ""

# A clock's timer has at least 10 us, so most periods are lost.
timeout 300 pcce-record -b bpf -e cpu-clock -c 500 -o fast.data -- ./switches 20 >fast.out 2>fast.err
check "if a period was too short, a larger one is the remedy" \
	sh -c "grep -q 'were lost: .*; use a larger -c' fast.err && ! grep -q 'lower -F' fast.err"

# ---- several events --------------------------------------------------------------------

timeout 300 pcce-record -b bpf -e context-switches,page-faults/period=2/ -e cpu-clock/freq=500/ \
	-o several.data -- ./switches 800 >several.out 2>several.err
switches=$(cat several.out)
# of_event EVENT NAME: a value of --stats of an event
of_event() { pcce-report -q -i several.data --event="$1" --stats | sed -n "s/^$2: *//p"; }
weight=$(weight_in several.data main)
lost=$(of_event context-switches lost)
check "several events: the first is as if it were alone ($switches, $weight, $lost lost)" \
	[ $((switches - weight - lost)) -le 20 -a $((weight - switches)) -le 20 ]
for event in context-switches page-faults; do
	is "$event: samples and losses are what was due" "$(of_event $event due)" \
		$(($(of_event $event taken) + $(of_event $event lost)))
done
is "an event has its own period" "$(pcce-report -q -i several.data --event=page-faults --format=folded |
	awk '{ n += $NF } END { print n }')" $((2 * $(of_event page-faults taken)))
is "events are not mixed up" "$(of_event '*' taken)" $(($(of_event 0 taken) + \
	$(of_event 1 taken) + $(of_event 2 taken)))
pcce-report -i several.data --stdio >report.out 2>&1
is "the sums of all are listed" "$(sed -n \
	's/^all events: context-switches [0-9]* ([0-9]* samples), page-faults .*, cpu-clock .* ms .*/listed/p' report.out)" listed
check "recordings of several events merge" pcce-merge -q -o twice.data several.data several.data
for event in 0 1 2; do
	is "... event $event" "$(pcce-report -q -i twice.data --event=$event --stats |
		sed -n 's/^taken: *//p')" $((2 * $(of_event $event taken)))
done

# Only INFO, and a part of the next record.
unpacked several.data unpacked.data
head -c $((40 + $(od -An -tu4 -j 36 -N 4 unpacked.data))) unpacked.data >begun.data
check "... after one that was cut off at its beginning" \
	pcce-merge -q -o begun-too.data begun.data several.data
is "... with all rates" "$(pcce-report -q -i begun-too.data --event='*' --stdio | grep '^all events')" \
	"$(pcce-report -q -i several.data --event='*' --stdio | grep '^all events')"

refused() { # NAME WORDS OPTION...: pcce-record fails, and says so
	local name=$1 words=$2
	shift 2
	pcce-record -o no.data "$@" -- ./switches 1 >refused.out 2>&1 && not_ok "$name" refused.out
	if grep -q -- "$words" refused.out; then ok "$name"; else not_ok "$name" refused.out; fi
}
refused "self refuses several" "one event at a time" -b self -e cpu-clock,task-clock
refused "--hot refuses several" "cannot record several events with --hot" --hot -e cs,page-faults
refused "--only refuses several" "cannot record several events with --only" --only=rest -e cs,page-faults
refused "an event twice" "cannot record the event cs twice" -e cs -e cs
refused "a wrong rate" "must be NAME, NAME/freq=HZ/ or NAME/period=N/" -e cs/period=0/
refused "a wrong modifier" "unknown modifier" -b bpf -e cs:x
refused "more events than a sample can represent" "cannot represent more than 4294967295 events" \
	-b bpf -e cs/period=4294967296/
refused "too many events" "more than 8 events" -e a,b,c,d,e,f,g,h,i

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what sampling waits costs a switch, beside an empty BPF program, perf record --off-cpu
# and offcputime-bpfcc, and compares the sums with what the scheduler says.  Two threads on one
# processor take turns over two pipes (pingpong.c).  Needs root.
#
#   bench/waits.sh      SWITCHES=200000  ROUNDS=5

. "$(dirname "$0")/lib.sh"
: "${SWITCHES:=200000}" "${ROUNDS:=5}"
[ "$(id -u)" = 0 ] || { echo "waits: cannot use BPF: not root; run with sudo" >&2; exit 1; }
has_bpf || { echo "waits: cannot record with BPF: $bpf_reason" >&2; exit 1; }
cd "$scratch" || exit 1

compile_tool attach_empty -lbpf
clang -target bpf -O2 -g -idirafter "/usr/include/$($CC -print-multiarch)" \
	-c "$top/bench/empty_switch.bpf.c" -o empty.o || exit 1
# shellcheck disable=SC2046 # lists of flags
$CC -D_GNU_SOURCE -O2 -g $(pcce-config --cflags) "$top/bench/pingpong.c" \
	$(pcce-config --ldflags) -pthread -o pingpong || exit 1

run() { # RECORDER: runs the program with it
	case $1 in
	nothing) ./pingpong "$SWITCHES" ;;
	empty) "$out/bench/attach_empty" empty.o 1 -- ./pingpong "$SWITCHES" ;;
	other) # records a process that only sleeps
		pcce-record -q --off-cpu -o other.data sleep 1000 2>/dev/null &
		sleep 1
		./pingpong "$SWITCHES"
		kill $!
		wait $! || true
		;;
	pcce) pcce-record -q --off-cpu -o pcce.data ./pingpong "$SWITCHES" ;;
	perf) perf record -q --off-cpu -o perf.data ./pingpong "$SWITCHES" ;;
	bcc)
		offcputime-bpfcc -f 1000 >bcc.folded 2>bcc.log &
		sleep 5
		./pingpong "$SWITCHES"
		kill -INT $!
		wait $! || true
		;;
	esac
}

recorders="nothing empty other pcce"
if ! command -v perf >/dev/null; then
	echo "perf record --off-cpu: perf is missing (package linux-perf)"
elif perf record --off-cpu -o perf.data true 2>&1 |
	grep -o 'option .off-cpu. is being ignored[^[]*' >perf.log; then
	echo "perf record --off-cpu: $(cat perf.log)"
else
	recorders+=" perf"
fi
if ! command -v offcputime-bpfcc >/dev/null; then
	echo "offcputime-bpfcc is missing (package bpfcc-tools)"
elif ! timeout 60 offcputime-bpfcc -f 1 >bcc.log 2>&1; then
	echo "offcputime-bpfcc: $(tail -n 1 bcc.log)"
else
	recorders+=" bcc"
fi

time_recorders switch

echo "a thread's time without a CPU: by schedstat, and by pcce, in ms"
sed -n 's/^thread //p' log.pcce | while read -r tid waited; do
	ticks=$(pcce-report -q -i pcce.data --tid="$tid" --format=folded |
		awk '{ n += $NF } END { print n + 0 }')
	awk -v w="$waited" -v n="$ticks" \
		'BEGIN { printf "%10.1f %10.1f\n", w / 1e6, n * 1000 / 999 }'
done
describe_machine

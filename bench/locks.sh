#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what -e lock costs a program that waits 10^5 times a second, beside empty BPF programs
# and --off-cpu. Two threads on one processor take turns with semaphores (handover.c). CPU time, in
# runs that take turns. Needs root.
#
#   bench/locks.sh      TURNS=200000  WORK=1500  ROUNDS=9

. "$(dirname "$0")/lib.sh"
: "${TURNS:=200000}" "${WORK:=1500}" "${ROUNDS:=9}"
[ "$(id -u)" = 0 ] || { echo "locks: cannot use BPF: not root; run with sudo" >&2; exit 1; }
has_bpf || { echo "locks: cannot record with BPF: $bpf_reason" >&2; exit 1; }
cd "$scratch" || exit 1

compile_tool attach_empty -lbpf
for program in switch waking; do
	clang -target bpf -O2 -g -idirafter "/usr/include/$($CC -print-multiarch)" \
		-c "$top/bench/empty_$program.bpf.c" -o $program.o || exit 1
done
# shellcheck disable=SC2046 # lists of flags
$CC -D_GNU_SOURCE -O2 -g $(pcce-config --cflags) "$top/bench/handover.c" \
	$(pcce-config --ldflags) -pthread -o handover || exit 1

handover() {
	"$@" ./handover "$TURNS" "$WORK"
}
run() { # RECORDER: runs the program with it
	local empty=$out/bench/attach_empty
	case $1 in
	nothing) handover ;;
	empty) handover "$empty" switch.o 1 -- "$empty" waking.o 1 -- ;;
	lock) handover pcce-record -q -e lock -o lock.data ;;
	off-cpu) handover pcce-record -q --off-cpu -o waits.data ;;
	esac
}

recorders="nothing empty lock off-cpu"
time_recorders turn "ns of CPU time a turn"
pcce-report -q -i lock.data --format=locks
describe_machine

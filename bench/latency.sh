#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what --latency costs an execution of a function that does nothing, beside --count and
# beside a uprobe with a uretprobe. CPU time, in runs that take turns. The probes need root.
#
#   bench/latency.sh      CALLS=20000000  PROBED=200000  ROUNDS=9

. "$(dirname "$0")/lib.sh"
: "${CALLS:=20000000}" "${PROBED:=200000}" "${ROUNDS:=9}"
cd "$scratch" || exit 1
# shellcheck disable=SC2046 # lists of flags
$CC -O2 -g $(pcce-config --cflags) "$top/bench/timed_calls.c" $(pcce-config --ldflags) \
	-o timed_calls || exit 1

run() { # RECORDER: runs the program with it
	case $1 in
	nothing) ./timed_calls "$CALLS" "$how" ;;
	latency) pcce-record -q --latency=timed -o l.data ./timed_calls "$CALLS" "$how" ;;
	count) pcce-record -q --count -o c.data ./timed_calls "$CALLS" "$how" ;;
	probes) pcce-record -q -b bpf -e uprobe:timed -e uretprobe:timed -o p.data ./timed_calls \
		"$PROBED" "$how" ;;
	esac
}

recorders="nothing latency count"
if [ "$(id -u)" = 0 ] && has_bpf; then recorders="$recorders probes"; fi
for how in direct pointer other; do
	rm -f ns.*
	echo "$how:"
	time_recorders "$how" "tenths of ns of CPU time a call"
done
describe_machine

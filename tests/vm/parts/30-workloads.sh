# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Runs the workloads of tests/workloads, sampled by time, two at once.  run.sh checks the
# recordings.

record() { # SAMPLER NAME
	hz=1000
	# Its samples have up to 50 KB, and the ring fills soon when the emulator is delayed.
	[ "$2" != deep_irregular ] || hz=500
	since=$(cut -d. -f1 /proc/uptime)
	$2 >$2.$1.want 2>&1
	pcce-record -q -b $1 -F $hz -o $2.$1 -- $2 >$2.$1.out 2>err.$2.$1
	status=$?
	echo "# $2 by $1: $(($(cut -d. -f1 /proc/uptime) - since)) s"
	without_late_clock <err.$2.$1 >$2.$1.err
	if [ $status = 0 ] && [ ! -s $2.$1.err ] && cmp -s $2.$1.want $2.$1.out; then
		ok "$2: output while recorded by $1"
	else
		not_ok "$2: output while recorded by $1" \
			"status $status" $2.$1.err $2.$1.out $2.$1.want
	fi
	mv $2.$1 /out
}

for list in 1 2; do
	while read -r name sampler; do
		record $sampler $name
	done </t/workloads.$list >results.$list 2>&1 &
done
wait %1 %2 2>/dev/null || wait
cat results.1 results.2

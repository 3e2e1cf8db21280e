# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Makes settings, and records earlier leaks.

. /t/settings
debug=/sys/kernel/debug
# The kernel must keep the requested rate, whatever a sample takes in an emulator.
echo 1000000 >/proc/sys/kernel/perf_event_max_sample_rate
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent

# Failing allocations: any, without messages.
for kind in failslab fail_page_alloc; do
	echo N >$debug/$kind/ignore-gfp-wait
	echo 0 >$debug/$kind/verbose
done
echo N >$debug/fail_page_alloc/ignore-gfp-highmem
echo 0 >$debug/fail_page_alloc/min-order

# kmemleak ignores allocations younger than five seconds.
leaks() {
	sleep 6
	echo scan >$debug/kmemleak
	sleep 6
	echo scan >$debug/kmemleak
	cat $debug/kmemleak
}
leaks >leaks.before
echo clear >$debug/kmemleak
echo "# $(grep -c '^unreferenced' leaks.before) leaks of the kernel's own"

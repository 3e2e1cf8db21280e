# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Makes any system calls; then with one allocation of twenty refused; then while a CPU goes off line
# and comes back.

fuzz_for() { # SECONDS SEED HOW [ARGUMENT]
	# Without restartable sequences: see 70-faults.sh.
	check "fuzz ends well$3" sh -c "GLIBC_TUNABLES=glibc.pthread.rseq=0 fuzz $1 $2 $4 >fuzz.out"
	cat fuzz.out
}
echo "# seed $seed"
fuzz_for "$fuzz_seconds" "$seed" ""

for kind in failslab fail_page_alloc; do
	echo Y >$debug/$kind/task-filter
	echo -1 >$debug/$kind/times
	echo 5 >$debug/$kind/probability
done
fuzz_for $((fuzz_seconds / 4 + 1)) $((seed + 100000)) ", without memory" faults
for kind in failslab fail_page_alloc; do echo 0 >$debug/$kind/probability; done

cpu=/sys/devices/system/cpu/cpu1/online
(
	while [ ! -e stop ]; do
		echo 0 >$cpu
		usleep 300000
		echo 1 >$cpu
		usleep 300000
		echo >>turns
	done
) &
fuzz_for $((fuzz_seconds / 10 + 1)) $((seed + 200000)) ", CPUs come and go"
touch stop
wait $!
check "... $(wc -l <turns) times" [ "$(wc -l <turns)" -gt 2 ]

check "sessions work as usual" sh -c 'sessions >sessions.out && ! grep "^not ok" sessions.out'

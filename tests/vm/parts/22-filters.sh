# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Records with --hot, --only and --count.  The programs make a known number of page faults in each
# context; filters.sh checks the recordings.

faults() { # DATA COMMAND OPTION...: records each page fault, again if samples were lost
	data=$1 command=$2
	shift 2
	for try in 1 2 3; do
		status=0
		# shellcheck disable=SC2086 # words
		pcce-record -q -b kmod -e page-faults -o $data "$@" -- $command >$data.log 2>&1 || status=$?
		grep -q 'were lost' $data.log || break
	done
	if [ $status = 0 ] && [ ! -s $data.log ]; then
		ok "recorded: $data"
	else
		not_ok "recorded: $data" "status $status" $data.log
	fi
	mv $data /out
}

many="faults 60 30 50" few="faults 300 8 80"
faults many.all "$many" -c 1
faults many.hot "$many" -c 1 --hot
faults many.weights "$many" -c 3 --hot
faults many.out "$many" -c 1 --only="left < work_less"
faults many.both "$many" -c 1 --only="right < right << left" --hot
faults few.all "$few" -c 1
faults few.hot "$few" -c 1 --hot=0.004,0.002
faults few.little "$few" -c 1 --hot=0.1,0.04
faults few.out "$few" -c 1 --only="touch << right < left < work"
faults shapes.all "shapes 10 /t/library.so" -c 1
faults shapes.down "shapes 10 /t/library.so" -c 1 --only="save << down"
faults shapes.hot "shapes 10 /t/library.so" -c 1 --only="save << down" --hot
cp /t/swap1.so /t/swap2.so .
faults swap.all "swap 4" -c 1
faults swap.hot "swap 4" -c 1 --hot
faults swap.out "swap 4" -c 1 --only=fault_1

check "calls are counted" pcce-record -q --count -o calls.alone -- truth
check "calls are counted, and samples taken" sh -c "pcce-record -q --count -b kmod \
	-e syscalls:sys_enter_getppid -c 1 -o calls.beside -- truth >calls.beside.out"
mv calls.alone calls.beside calls.beside.out /out

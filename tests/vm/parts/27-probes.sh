# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Records probes of user code and of the kernel. run.sh checks the recordings.

check "probes of user code are recorded" sh -c "pcce-record -q -b bpf \
	-e uprobe:leaf,uprobe:walk,uretprobe:walk,usdt:calls:always,usdt:calls:watched \
	-o probes.bpf -- calls 60 >probes.bpf.out"
mv probes.bpf probes.bpf.out /out

# The program calls getppid() a known number of times.
check "probes of the kernel are recorded" sh -c "pcce-record -q -b bpf \
	-e kprobe:__x64_sys_getppid,kretprobe:__x64_sys_getppid -o kprobes.bpf -- missed 1 500 >kprobes.bpf.out"
mv kprobes.bpf kprobes.bpf.out /out

refused() { # NAME WORDS OPTION...
	name=$1 words=$2
	shift 2
	pcce-record -o no.data "$@" >refused.out 2>&1
	if grep -q -- "$words" refused.out; then ok "$name"; else not_ok "$name" refused.out; fi
}
refused "a function that the kernel lacks" "the kernel has no function __x64_sys_getppit; did you mean .*__x64_sys_getppid" \
	-e kprobe:__x64_sys_getppit -- calls 1
refused "kmod refuses probes" "it cannot sample uprobe:leaf; use -b bpf" -b kmod -e uprobe:leaf -- calls 1

# Whoever kills the recorder leaves the program as it was.
calls 400 >plain.out
pcce-record -q -b bpf -e uprobe:/bin/calls:leaf -o killed.data -- \
	sh -c 'echo begun; sleep 3; exec calls 400' >killed.out &
for try in $(seq 60); do
	[ ! -s killed.out ] || break
	sleep 1
done
kill -9 $!
for try in $(seq 60); do
	[ "$(wc -l <killed.out)" -lt 2 ] || break
	sleep 1
done
is "a program whose recorder is killed ends" "$(sed -n 2p killed.out | cut -d' ' -f 1-2)" \
	"$(cut -d' ' -f 1-2 plain.out)"

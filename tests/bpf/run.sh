#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests the BPF program of each clang that is installed.  It builds without a warning.  The running
# kernel loads it, and its samples are right (load.c).  tests/vm does the same in other kernels.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/bpf/lib.sh"
cd "$scratch" || exit 1

# The kernel has 512 bytes for a program and the functions that it calls, which take 128.
STACK_MOST=384

clangs=$(bpf_clangs)
[ -n "$clangs" ] || skip_all "clang is missing (package clang)"
for clang in $clangs; do
	if bpf_loader "$clang" >build.log 2>&1; then
		is "$clang: the program builds without a warning" "$(grep -v '^  [A-Z]* ' build.log)" ""
		objdump=$(command -v "llvm-objdump-${clang#clang-}" llvm-objdump | head -n 1)
		if [ -z "$objdump" ]; then
			skip "$clang: the stack of each program" "llvm-objdump is missing (package llvm)"
			continue
		fi
		bpf_stacks "$objdump" "bpf-$clang/obj/sampler.bpf.o" >stacks
		check "$clang: on_event is among the programs" grep -q ' on_event$' stacks
		is "$clang: no program uses more stack than Linux 6.1 has for it" \
			"$(awk -v most=$STACK_MOST '$1 > most' stacks)" ""
	else
		not_ok "$clang: the program builds" build.log
	fi
done
if ! has_bpf; then
	skip "the kernel loads the program" "$bpf_reason"
	done_testing
fi

# load WHERE CLANG: with a tracefs
load() {
	local propagation=
	# In a chroot whose / is not a mount, its propagation cannot be changed.
	unshare -m true 2>/dev/null || propagation="--propagation unchanged"
	# shellcheck disable=SC2086 # options; no argument or one
	unshare -m $propagation sh -c 'mountpoint -q /sys/kernel/tracing ||
		mount -t tracefs nodev /sys/kernel/tracing
		exec "$@"' sh "./load-$2" $1
}

# What the probe of the sampler has loaded is used.
if ! command -v strace >/dev/null; then
	skip "a recording loads the program once" "strace is missing (package strace)"
elif ! strace -o calls true 2>/dev/null; then
	skip "a recording loads the program once" "strace cannot trace here"
else
	for event in cpu-clock:on_event off-cpu:on_switch; do
		strace -f -o calls -e trace=bpf pcce-record -q -b bpf -e ${event%:*} -o once.data \
			-- true >log 2>&1
		is "${event%:*}: a recording loads the program once" \
			"$(grep -c "prog_name=\"${event#*:}\"" calls)" 1
	done
fi

for clang in $clangs; do
	[ -x "load-$clang" ] || continue
	for where in "" namespace; do
		name=$clang${where:+, pid namespace}
		load "$where" "$clang" >results 2>&1
		is "$name: load.c ends well" $? 0
		while IFS= read -r line; do
			case $line in
			'ok - '*) ok "$name: ${line#ok - }" ;;
			'not ok - '*) not_ok "$name: ${line#not ok - }" ;;
			*) echo "# ${line#\# }" ;;
			esac
		done <results
	done
done
done_testing

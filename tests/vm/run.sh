#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# seconds: 1500
#
# Tests the kernel module in Debian's kernel, in an emulated machine (`make check-vm`).
#
#   KDIR=DIR   the installed headers of a kernel of Debian, /usr/src/linux-headers-RELEASE; by
#              default those of the newest release that is installed
#
# This script builds the module and the programs, starts the machine (lib.sh), and checks its
# output. guest.sh and parts/* run inside.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/vm/lib.sh"
. "$top/tests/vm/filters.sh"
. "$top/tests/bpf/lib.sh"
. "$top/tests/e2e/frames/lib.sh"
. "$top/tests/e2e/probes/lib.sh"
# The emulator's clock is often late.
max_unexplained=1000
kdir=${KDIR:+$(realpath -m "$KDIR")}
cd "$scratch" || exit 1

# ---- what is needed ---------------------------------------------------------------------

vm_needs
[ -n "$kdir" ] ||
	kdir=$(printf '%s\n' /usr/src/linux-headers-*-amd64 | grep -v -e -cloud- -e -rt- | sort -V | tail -n 1)
if [ -n "${KDIR-}" ]; then
	check "$KDIR holds the headers of a kernel" [ -e "$kdir/Module.symvers" ]
	[ "$tap_failed" = 0 ] || done_testing
fi
[ -e "$kdir/Module.symvers" ] || skip_all \
	"the headers of Debian's kernel are missing (package linux-headers-amd64)"
release=$(basename "$kdir")
release=${release#linux-headers-}
echo "# kernel $release"
kernel=$out/vm/$release
mkdir -p "$out/vm"
"$top/scripts/fetch-kernel" "$release" "$kernel" 2>fetch.log ||
	skip_all "Debian's kernel $release cannot be had: $(tail -n 1 fetch.log)"

# ---- the module ----------------------------------------------------------------------------

sparse=
if command -v sparse >/dev/null; then
	sparse=C=2
else
	skip "sparse" "sparse is missing (package sparse)"
fi
if "$top/scripts/build-kmod" "$scratch/kmod" KDIR="$kdir" W=1 $sparse >kmod.log 2>&1; then
	is "the module builds without a warning (W=1 $sparse)" "$(cat kmod.log)" ""
else
	not_ok "the module builds" kmod.log
	done_testing
fi

# A counter of the processor that interrupts late, for harmless.c.
cp -r "$top/tests/vm/skid" skid
check "the module skid builds" env -u MAKEFLAGS -u MAKELEVEL -u CC -u O \
	make -s -C "$kdir" M="$scratch/skid" CONFIG_DEBUG_INFO_BTF_MODULES= modules

# ---- the guest -------------------------------------------------------------------------

# Others take too long here, and show no more about a sampler in the kernel than these and truth.c.
workloads="recursion threads origins fork deep_irregular signals setjmp static"
by_bpf=threads reloads=20
if [ -n "${PCCE_TEST_LONG-}" ]; then
	workloads+=" many_threads deep_regular"
	by_bpf+=" recursion fork"
	reloads=1000 # two minutes
fi
reloads=${PCCE_VM_RELOADS:-$reloads}

vm_new
vm_instrumented "$top/tests/vm/truth.c" truth -pthread
for name in requests sessions access stacks harmless cost hostile reload missed; do
	vm_program $name
done
filter_programs
for clang in $(bpf_clangs); do
	if bpf_loader "$clang" >build.log 2>&1; then
		vm_add "load-$clang"
	else
		not_ok "the BPF program builds with $clang" build.log
	fi
done
for name in $workloads; do
	case $name in # divisors that make about 500 samples
	signals | static) divisor=40 ;;
	threads) divisor=10 ;;
	deep_irregular) divisor=5 ;; # it is sampled more rarely
	many_threads) divisor=4 ;; # it spends most of its time on making threads
	*) divisor=20 ;;
	esac
	# shellcheck disable=SC2046
	vm_instrumented "$top/tests/workloads/$name.c" "$name" \
		$(words "$top/tests/workloads/$name.c" flags) -DBURN_DIVISOR=$divisor
done
vm_instrumented "$top/tests/workloads/threads.c" long -pthread
vm_instrumented "$top/tests/e2e/locks/contend.c" contend -pthread
vm_instrumented "$top/tests/e2e/system/work.c" work
vm_instrumented "$top/tests/e2e/labels/work.c" labels -pthread -I"$top/userlib" -I"$top/include"
check "the SDK is built" $CC -O2 -c "$top/tests/e2e/labels/sdk.c" -o sdk.o
vm_instrumented "$top/tests/e2e/labels/server.c" server -I"$top/userlib" -I"$top/include" sdk.o
vm_instrumented "$top/tests/e2e/probes/calls.c" calls -pthread
check "what makes the module look old is built" $CC -O2 -Wall -Wextra -Werror -shared -fPIC \
	-I"$top/include" "$top/tests/vm/old_module.c" -o old_module.so
vm_add old_module.so /t/old_module.so
if [ -e "$out/tests/pcce-record" ]; then
	check "the programs with frames of all kinds are built" frames_build /t
	for f in program plain; do vm_add $f; done
	vm_add libplain.so /t/libplain.so
	vm_add "$out/tests/pcce-record" /bin/pcce-record-frames
else
	skip "frames of uninstrumented code" "tests/pcce-record is missing (make units)"
fi
for name in $workloads; do echo "$name kmod"; done >all
for name in $by_bpf; do echo "$name bpf"; done >>all
awk 'NR % 2' all >workloads.1
awk 'NR % 2 == 0' all >workloads.2

vm_add "$out/bin/pcce-record"
vm_add "$scratch/kmod/pcce_sampler.ko" /t/pcce_sampler.ko
vm_add skid/skid.ko /t/skid.ko
vm_add "$top/tests/vm/guest.sh" /t/main
for f in "$top"/tests/vm/parts/*.sh; do vm_add "$f" "/t/parts/$(basename "$f")"; done
echo "$reloads" >reloads
vm_add reloads /t/reloads
for f in workloads.1 workloads.2; do vm_add $f /t/$f; done

if vm_boot "$kernel/vmlinux" "$kernel/modules" 1000; then
	ok "the guest runs to its end"
else
	not_ok "the guest runs to its end" "$vm_out/console" "$vm_out/log" "$vm_out/qemu"
fi
splat=$(vm_splat)
is "the kernel has no complaints" "$splat" ""
vm_results

# ---- what has been recorded -----------------------------------------------------------------

for sampler in kmod bpf hot hot.kmod system; do vm_truth $sampler; done
filter_results

# Kernels with preemptible BPF programs leave events out.  Each must be counted.
lost=$(stat_of "$vm_out/missed.bpf" lost)
echo "# $lost of $(cat "$vm_out/missed.bpf.out") events lost, by nesting: $(stat_of "$vm_out/missed.bpf" lost_nested)"
is "samples and lost ones are all events" \
	$(($(stat_of "$vm_out/missed.bpf" samples) + lost)) "$(cat "$vm_out/missed.bpf.out")"
is "events of other processes are no loss" "$(stat_of "$vm_out/beside.bpf" lost)" 0

probes_of_calls "$vm_out/probes.bpf" "$vm_out/probes.bpf.out"
for event in kprobe:__x64_sys_getppid kretprobe:__x64_sys_getppid; do
	is "each hit of $event is a sample or lost" $(($(value_of "$vm_out/kprobes.bpf" $event samples) + \
		$(value_of "$vm_out/kprobes.bpf" $event lost))) "$(cat "$vm_out/kprobes.bpf.out")"
done

recording_is_exact "a running process: all samples exact" "$vm_out/attached.kmod" 10
recording_is_exact "a set-uid program: all samples exact" "$vm_out/set-uid.kmod" 10

# exact_commands DATA COMMAND...: each has exact samples, and no others than those outside
exact_commands() {
	local data=$vm_out/$1 name exact
	shift
	for name; do
		exact=$(pcce-report -q -i "$data" --pid="$name" --stats |
			awk '{ n[$1] = $2 } END { print n["samples:"] - n["outside:"] == n["exact:"] ? n["exact:"] : 0 }')
		check "${data##*/}: $name: $exact samples, all exact" [ "$exact" -ge 10 ]
	done
}
exact_commands system.bpf recursion work
exact_commands several.bpf work
exact_commands user.bpf recursion
is "several.bpf: two processes" "$(pcce-report -q -i "$vm_out/several.bpf" --format=commands |
	awk '$5 == "work" { print $4 }')" 2
# Each context waits for one other.
for kind in normal pi cond; do
	is "locks.bpf: who ended the waits of $kind" "$(pcce-report -q -i "$vm_out/locks.bpf" \
		--format=locks --min-percent=0 | grep -A 1 "${kind}_want" |
		grep -o "[a-z]*_give" | sort -u)" "${kind}_give"
done
for sampler in kmod bpf; do
	label_values() { # NAME KEY
		pcce-report -q -i "$vm_out/$1.$sampler" --format=folded --by="label:$2" |
			sed -n 's/^\([^;]*\);main;.*burn.* .*/\1/p' | sort -u | paste -sd ' '
	}
	is "labels: $sampler: tenants" "$(label_values labels tenant)" \
		"[no tenant] tenant=a tenant=b"
	is "labels: $sampler: spans" "$(label_values labels span)" \
		"[no span] span=inner span=outer"
	is "labels: $sampler: routes of an SDK" "$(label_values sdk http.route)" \
		"[no http.route] http.route=/quick http.route=/slow"
done
check "switches.bpf: threads of the kernel have its stack" sh -c \
	"pcce-report -q -i '$vm_out/switches.bpf' --format=folded | grep ';ret_from_fork[^ ]*;kthread;'"

while read -r name sampler; do
	source=$top/tests/workloads/$name.c data=$vm_out/$name.$sampler
	allow_truncated=0 allow_marked=$(words "$source" marked)
	: "${allow_marked:=0}"
	# In the emulator a signal's arrival takes a larger part of the time.
	[ "$allow_marked" = 0 ] || allow_marked=20
	[ "$(words "$source" truncated)" != yes ] || allow_truncated=1
	recording_is_exact "$name: $sampler: all samples exact" "$data" 50
	echo "# $(stat_of "$data" samples) samples"
	# The machine is too slow for a sample in the handler's work.
	[ "$name" = signals ] ||
		expected_chains "$name: $sampler" "$source" "$data"
done <all

# ---- frames of uninstrumented code ---------------------------------------------------------------

restored() { # DATA MINIMUM [PERCENT]: frames are restored, all but a few, and none is wrong
	local data=$vm_out/$1 rest
	echo "# $1: $(stat_of "$data" samples) samples, $(stat_of "$data" lost) lost," \
		"$(stat_of "$data" restored) restored, $(stat_of "$data" restored_in_part) in part," \
		"$(stat_of "$data" not_restored) not, $(stat_of "$data" stack_bytes) bytes of stacks"
	rest=$(($(stat_of "$data" restored_in_part) + $(stat_of "$data" not_restored)))
	check "$1: frames are restored" [ "$(stat_of "$data" restored)" -ge "$2" ]
	is "$1: no frames lead to another call than the context" "$(stat_of "$data" restored_wrong)" 0
	check "$1: all are restored but a few" \
		[ $((rest * 100)) -le $((${3-2} * ($(stat_of "$data" restored) + rest))) ]
}

frames_without_kernel() { # DATA: prints the folded report
	pcce-report -q -i "$vm_out/$1" --format=folded >frames.folded 2>frames.err
	same_contexts frames.folded
}

frames_that_occur() { # DATA: prints each context once, except those in part
	frames_without_kernel "$1" | grep -v truncated | sed 's/ [0-9]*$//' | sort -u
}

if [ -e "$out/tests/pcce-record" ]; then
	restored foreign.kmod 100
	check "foreign.kmod: less than a quarter of the stacks is copied" \
		[ $(($(stat_of "$vm_out/foreign.kmod" stack_bytes) * 4)) -lt $(($(stat_of "$vm_out/foreign.kmod" samples) * 8192)) ]
	chains_are_right "kmod" "$vm_out/foreign.kmod"
	# The loader, at the start, is the time of a slow machine more than of the program.
	restored all.kmod 100 10
	restored plain.kmod 100 10
	chains_are_right "kmod: whole stacks" "$vm_out/plain.kmod"
	for which in foreign all plain; do
		restored ask.$which.kmod 1000
		# Of threads with a page, a few samples may have needed more than those before.
		part=$(($(stat_of "$vm_out/ask.$which.kmod" restored_in_part) +
			$(stat_of "$vm_out/ask.$which.bpf" restored_in_part)))
		frames_that_occur ask.$which.kmod >kmod.frames
		frames_that_occur ask.$which.bpf >bpf.frames
		check "ask.$which: kmod and bpf restore the same frames, except $part in part" \
			[ "$(comm -3 kmod.frames bpf.frames | wc -l)" -le "$part" ]
	done
	check "ask.foreign: the frames of the deepest call are there" grep -qE \
		'ask(;lib_ask_deep){40};lib_ask_aligned;lib_ask_any_size;lib_ask[; ]' \
		<(frames_without_kernel ask.foreign.kmod | sed 's/@plt//g')
	is "ask.plain: they do so as often" \
		"$(frames_without_kernel ask.plain.kmod)" "$(frames_without_kernel ask.plain.bpf)"
	for which in foreign plain; do
		restored wide.$which.kmod 100 10
	done
	check "lost.kmod: a recorder that stood still has lost samples" \
		[ "$(stat_of "$vm_out/lost.kmod" lost_ring)" -ge 1000 ]
	restored lost.kmod 1000
	pcce-report -q -i "$vm_out/lost.kmod" --format=folded >lost.folded 2>lost.err
	# Those in part have been counted above.
	is "lost.kmod: each sequence of frames is one of the program" "$(sed 's/;\[kernel\] / /; s/ [0-9]*$//' lost.folded |
		grep lib_touch | grep -v truncated | grep -vE 'main;touch(;lib_touch){1,40}$')" ""
fi

# ---- what a sample costs -----------------------------------------------------------------------

# Here the emulator counts instructions: each takes a nanosecond.  It has one processor then.
vm_new
vm_add cost
vm_add "$scratch/kmod/pcce_sampler.ko" /t/pcce_sampler.ko
echo "insmod /t/pcce_sampler.ko && cost instructions && rmmod pcce_sampler" >main
vm_add main /t/main
vm_machine="-accel tcg,thread=single -smp 1 -icount shift=0"
if vm_boot "$kernel/vmlinux" "$kernel/modules" 300; then
	ok "the guest that counts instructions runs to its end"
else
	not_ok "the guest that counts instructions runs to its end" \
		"$vm_out/console" "$vm_out/log" "$vm_out/qemu"
fi
is "... without complaints" "$(vm_splat)" ""
vm_results
done_testing

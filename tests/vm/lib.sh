# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Runs programs in a virtual machine: a kernel, and a file system in memory that is made here.
#
#   vm_new                 an empty tree in $vm_tree, with busybox
#   vm_add FILE [TO]       a program with the libraries that it needs, or any other file
#   vm_boot KERNEL MODULES SECONDS     runs /t/main (added before) in the guest; 0 if it ended
#
# The guest's /out is $vm_out here.  It leaves: log (the output of /t/main), dmesg, token, and
# whatever /t/main writes there; console is what the kernel printed.
#
# The emulator translates (TCG) and never uses hardware virtualisation, so that a run is the same
# everywhere.  Times in the guest mean nothing.
#
#   vm_machine    other processors than two, and another emulation
#   vm_memory     MB
#   vm_append     additions to the kernel's command line

vm_tree=$scratch/vm
vm_out=$scratch/out
: "${vm_patience:=120}"

vm_new() {
	rm -rf "$vm_tree"
	mkdir -p "$vm_tree"/{bin,sbin,usr/bin,lib,lib64,etc,root,t,modules}
	cp "$(command -v busybox)" "$vm_tree/bin/busybox"
	ln -s busybox "$vm_tree/bin/sh"
	cp "$top/tests/vm/init" "$vm_tree/init"
	chmod +x "$vm_tree/init"
	echo 'root:x:0:0:root:/root:/bin/sh
other:x:1000:1000::/:/bin/sh
third:x:1001:1001::/:/bin/sh' >"$vm_tree/etc/passwd"
}

vm_add() { # FILE [TO]
	local to=$vm_tree/${2:-/bin/$(basename "$1")} library at
	mkdir -p "$(dirname "$to")"
	cp "$1" "$to"
	{ ldd "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
		at=$vm_tree$library
		# The guest has another /tmp, and pcce may have been built there.
		case $library in "$out"/*) at=$vm_tree/lib/${library##*/} ;; esac
		[ -e "$at" ] || {
			mkdir -p "$(dirname "$at")"
			cp -L "$library" "$at"
		}
	done
}

# vm_is_up PID: succeeds if it comes up within $vm_patience seconds.  On an idle machine it takes 3
# to 8 seconds.
vm_is_up() {
	local i
	for ((i = 0; i < 2 * vm_patience; i++)); do
		grep -q 'pcce-vm: up' "$vm_out/console" 2>/dev/null && return
		kill -0 "$1" 2>/dev/null || return
		sleep 0.5
	done
	return 1
}

vm_boot() { # KERNEL MODULES SECONDS
	local kernel=$1 modules=$2 seconds=$3 token status
	token=$(od -An -tx8 -N8 /dev/urandom | tr -d ' ')
	[ -z "$modules" ] || cp "$modules"/*.ko "$vm_tree/modules/"
	(cd "$vm_tree" && find . | cpio -o -H newc -R 0:0 --quiet) >"$scratch/initrd"
	$CC -O2 "$top/tests/vm/tsc.c" -o "$scratch/tsc" || return 1
	local attempt qemu
	for attempt in 1 2 3; do
		rm -rf "$vm_out"
		mkdir -p "$vm_out"
		# shellcheck disable=SC2086 # options
		timeout -k 5 $((seconds + 60)) qemu-system-x86_64 -nodefaults -no-user-config \
			-display none -monitor none -no-reboot \
			-cpu max ${vm_machine:--accel tcg,thread=multi -smp 2,sockets=2} \
			-m "${vm_memory:-1024}" \
			-device isa-debug-exit,iobase=0xf4,iosize=1 -serial "file:$vm_out/console" \
			-virtfs "local,path=$vm_out,mount_tag=out,security_model=none" \
			-kernel "$kernel" -initrd "$scratch/initrd" \
			-append "console=ttyS0 panic=-1 oops=panic panic_on_warn=1 quiet watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 tsc_early_khz=$("$scratch/tsc") ${vm_append-} pcce_token=$token pcce_seconds=$seconds" \
			>"$vm_out/qemu" 2>&1 </dev/null &
		qemu=$!
		# Sometimes a guest does not come up.  None of our code has run then.
		vm_is_up "$qemu" || kill "$qemu" 2>/dev/null
		wait "$qemu"
		status=$?
		grep -q 'pcce-vm: up' "$vm_out/console" 2>/dev/null && break
	done
	grep -q "pcce-vm: up" "$vm_out/console" 2>/dev/null ||
		echo "the guest did not come up within $vm_patience seconds, three times;" \
		"qemu emulates it, which takes a CPU that is not busy otherwise and ${vm_memory:-1024} MB of memory" >>"$vm_out/qemu"
	# Two proofs that it ran to its end.
	[ "$status" = 33 ] && [ "$(cat "$vm_out/token" 2>/dev/null)" = "$token" ]
}

# Prints the kernel's complaints; succeeds if there are any.
vm_splat() {
	grep -aE 'BUG:|WARNING:|Oops|general protection|Call Trace|KASAN|UBSAN|possible recursive|possible circular|inconsistent lock|suspicious RCU|scheduling while atomic|sleeping function|unreferenced object|stack segment|double fault|soft lockup|hard LOCKUP|rcu: INFO|refcount_t|list_(add|del) corruption|Kernel panic' \
		"$vm_out/console" "$vm_out/dmesg" 2>/dev/null
}

# Prints the guest's results as ours.
vm_results() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok - '*) ok "${line#ok - }" ;;
		'not ok - '*) not_ok "${line#not ok - }" ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <"$vm_out/log"
}

# ---- what is run there -------------------------------------------------------------------

vm_needs() { # Ends the suite if something is missing.
	local tool
	for tool in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio \
		xz:xz-utils; do
		command -v ${tool%:*} >/dev/null ||
			skip_all "${tool%:*} is missing (package ${tool#*:})"
	done
}

vm_program() { # NAME: a test program, from tests/vm/NAME.c
	$CC -O2 -g -D_GNU_SOURCE= -Wall -Wextra -Werror -pthread -I"$top/include" -I"$top/lib" \
		-I"$top" -I"$top/tests/vm" "$top/tests/vm/$1.c" "$top/tests/vm/guest.c" \
		"$top/tests/vm/begin_session.c" \
		"$top/lib/sampler/kmod_session.c" "$top/lib/sampler/stack_blocks.c" \
		"$top/lib/base/error.c" -o "$1" >build.log 2>&1 || {
		not_ok "$1 builds" build.log
		done_testing
	}
	vm_add "$1"
}

# shellcheck disable=SC2046,SC2086 # lists of flags
vm_instrumented() { # SOURCE NAME [FLAG...]: a program to be recorded
	local source=$1 name=$2
	shift 2
	$CC -O2 -g $(pcce-config --cflags) "$@" "$source" $(pcce-config --ldflags) -o "$name" \
		>build.log 2>&1 || {
		not_ok "$name builds" build.log
		done_testing
	}
	vm_add "$name"
}

# Prints the program's account and a folded report, with sites of one function merged.
same_contexts() {
	sed 's/;\[kernel\] / /' "$1" | awk '{ w = $NF; sub(/ [^ ]*$/, ""); n[$0] += w } END { for (c in n) print c, n[c] }' |
		sort
}

# vm_truth SAMPLER: truth.SAMPLER, a recording of truth.c, must equal the program's account.  The
# samples that are counted as lost may be missing, as many and no more.
vm_truth() {
	local data=$vm_out/truth.$1 lost
	lost=$(stat_of "$data" lost_nested)
	pcce-report -i "$data" --format=folded >truth.folded 2>truth.err
	same_contexts truth.folded >truth.got
	same_contexts "$data.out" >truth.want
	if [ -s truth.want ] &&
		awk -v lost="${lost:-0}" '{ w = $NF; sub(/ [^ ]*$/, "") }
			NR == FNR { n[$0] = w; due += w; next }
			w > n[$0] { print "too often:", $0, w; bad = 1 } { got += w }
			END { print due - got, "missing,", lost, "lost"; exit bad || due - got != lost }' \
			truth.want truth.got >truth.diff; then
		ok "truth: $1: the same contexts, as often"
	else
		diff truth.want truth.got >>truth.diff
		not_ok "truth: $1: the same contexts, as often" truth.err truth.diff
	fi
	allow_lost=${lost:-0} recording_is_exact "truth: $1: all samples exact" "$data" 400
}

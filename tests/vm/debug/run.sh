#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests the kernel module under heavy attack, in a kernel with all checks (`make check-vm-debug`).
# Takes an hour or more by default, most of it in the emulator.  `make check` does not run it.
#
#   PCCE_VM_FUZZ=SECONDS     system calls with any arguments (600); a quarter of that time again
#                            without memory, a tenth with CPUs that come and go
#   PCCE_VM_HOSTILE=SECONDS  of each kind of attack on the page (60)
#   PCCE_VM_RELOADS=N        times that the module is loaded, used and removed (1000)
#   PCCE_VM_SEED=N           of the fuzzer; by default it differs each time and is printed
#
# As in ../run.sh the guest runs ../guest.sh, here with the parts of ../parts that need nothing
# else, and those of parts/.

. "$(dirname "$0")/../../lib.sh"
. "$top/tests/vm/lib.sh"
cd "$scratch" || exit 1

vm_needs
for tool in flex bison bc; do
	command -v $tool >/dev/null || skip_all "$tool is missing (package $tool)"
done
kdir=$("$top/scripts/build-debug-kernel" 2>kernel.log) || {
	not_ok "the debug kernel builds" kernel.log
	done_testing
}
# Not vmlinux as in ../run.sh, because the code that starts vmlinux does not support KASAN.
kernel=$kdir/arch/x86/boot/bzImage

build_module() { # NAME COMMAND...
	local name=$1
	shift
	env -u MAKEFLAGS -u MAKELEVEL -u CC -u O "$@" >"$name.log" 2>&1 || {
		not_ok "$name builds" "$name.log"
		done_testing
	}
}
build_module pcce_sampler "$top/scripts/build-kmod" "$scratch/kmod" KDIR="$kdir" W=1 \
	UBSAN_SANITIZE=y
is "the module builds without a warning" "$(cat pcce_sampler.log)" ""
cp -r "$top/tests/vm/debug/canary" canary
build_module canary make -s -C "$kdir" M="$scratch/canary" UBSAN_SANITIZE=y modules

vm_memory=2048
# Reports of KASAN and lockdep about several tasks are long.  The emulated clock follows the real
# one even while nothing runs: the emulator can be stopped for minutes, or get little of a busy
# machine. Nothing may therefore judge by time.  The watchdog of clocks is off: after it only
# jiffies would be left, which are too coarse to order events.  The watchdog of RCU is off, too.
# This kernel has none for tasks and CPUs.
vm_append="log_buf_len=8M kasan.fault=report tsc=reliable rcupdate.rcu_cpu_stall_suppress=1"
vm_patience=600

# ---- does this kernel complain? -------------------------------------------------------------

vm_new
vm_add canary/canary.ko /t/canary.ko
vm_add "$top/tests/vm/debug/canary/guest.sh" /t/main
vm_append="$vm_append panic_on_warn=0 kasan_multi_shot" vm_boot "$kernel" "" 600 ||
	not_ok "the guest that makes mistakes runs to its end" "$vm_out/console" "$vm_out/qemu"
vm_splat >complaints
canary() { # WHAT PATTERN
	if grep -q "$2" complaints; then
		ok "this kernel finds $1"
	else
		not_ok "this kernel finds $1" complaints "$vm_out/log" "$vm_out/console"
	fi
}
found=$(sed -n '/^[0-9]*$/p' "$vm_out/log")
check "this kernel finds forgotten memory" [ "${found:-0}" -gt 10 ]
canary "what sleeps where it must not" "BUG: sleeping function called from invalid context"
canary "what is not defined in C" "UBSAN: shift-out-of-bounds"
canary "the number of a CPU that may change" "BUG: using smp_processor_id() in preemptible"
canary "RCU pointers that are read without protection" "suspicious RCU usage"
canary "locks that are taken in both orders" "possible circular locking"
canary "the use of memory that has been freed" "KASAN: slab-use-after-free\|KASAN: use-after-free"
canary "the use of memory behind what has been allocated" "KASAN: vmalloc-out-of-bounds"

# ---- the module -------------------------------------------------------------------------------

: "${PCCE_VM_FUZZ:=600}" "${PCCE_VM_HOSTILE:=60}" "${PCCE_VM_RELOADS:=1000}"
: "${PCCE_VM_SEED:=$(od -An -tu4 -N4 /dev/urandom | tr -d ' ')}"
vm_new
vm_instrumented "$top/tests/vm/truth.c" truth -pthread
for name in requests sessions access stacks cost hostile reload everywhere faults fuzz; do
	vm_program $name
done
vm_add "$out/bin/pcce-record"
vm_add "$scratch/kmod/pcce_sampler.ko" /t/pcce_sampler.ko
vm_add "$top/tests/vm/guest.sh" /t/main
vm_add "$top/tests/vm/parts/10-device.sh" /t/parts/10-device.sh
for f in "$top"/tests/vm/debug/parts/*.sh; do vm_add "$f" "/t/parts/$(basename "$f")"; done
cat >settings <<END
fuzz_seconds=$PCCE_VM_FUZZ
hostile_seconds=$PCCE_VM_HOSTILE
reloads=$PCCE_VM_RELOADS
seed=$PCCE_VM_SEED
END
vm_add settings /t/settings

if vm_boot "$kernel" "" \
	$((3600 + 2 * PCCE_VM_FUZZ + 10 * PCCE_VM_HOSTILE + 10 * PCCE_VM_RELOADS)); then
	ok "the guest runs to its end"
else
	not_ok "the guest runs to its end" "$vm_out/console" "$vm_out/log" "$vm_out/qemu"
fi
# A fork that gets no stack prints a long report.  It is not our fault unless the module is among
# the callers.  A question mark precedes leftovers of earlier calls on the stack.
without_refusals() {
	awk '
		/vmalloc error:|percpu: allocation failed|page allocation failure:/ { held = ""; hold = 1; ours = 0 }
		hold { held = held $0 "\n"; ours = ours || (/pcce_/ && !/ [?] /); if (/<\/TASK>/) { hold = 0; if (ours) printf "%s", held }; next }
		{ print }
		END { if (hold) printf "%s", held }' "$1" >"$1.new" && mv "$1.new" "$1"
}
for f in "$vm_out/console" "$vm_out/dmesg"; do [ ! -e "$f" ] || without_refusals "$f"; done
is "the kernel has no complaints" "$(vm_splat)" ""
[ -z "$(vm_splat)" ] || cp "$vm_out/dmesg" "$vm_out/console" "$out/tests/" 2>/dev/null
vm_results
for sampler in kmod counted hot; do vm_truth $sampler; done
done_testing

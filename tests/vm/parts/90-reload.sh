# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Loads and removes the module.  Comes last, because other parts need the module loaded.

is "nothing uses the module" "$(cat /sys/module/pcce_sampler/refcnt)" 0
check "the module is removed" rmmod pcce_sampler
check "... and the device with it" [ ! -e /dev/pcce ]
is "without it, -b kmod says so" "$(pcce-record -b kmod -o none -- true 2>&1)" \
	"pcce-record: cannot use the kmod sampler: the kernel module pcce_sampler is not loaded; load it with modprobe pcce_sampler or insmod pcce_sampler.ko"
check "... and -b auto takes another" \
	sh -c 'pcce-record -F 100 -o auto.data -- true 2>&1 | grep "(bpf)"'
# Otherwise most of the time is waiting.
echo 1 >/sys/kernel/rcu_expedited
reload /t/pcce_sampler.ko "$(cat /t/reloads)"
echo 0 >/sys/kernel/rcu_expedited
check "the module loads again" insmod /t/pcce_sampler.ko

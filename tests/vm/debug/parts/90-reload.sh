# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Loads and removes the module.  95-leaks.sh checks for leftovers.

is "nothing uses the module" "$(cat /sys/module/pcce_sampler/refcnt)" 0
check "the module is removed" rmmod pcce_sampler
check "reload ends well" sh -c "reload /t/pcce_sampler.ko $reloads >reload.out"
cat reload.out
check "the module loads again" insmod /t/pcce_sampler.ko

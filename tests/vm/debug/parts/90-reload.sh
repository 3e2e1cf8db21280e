# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# The module comes and goes. Whether something stays behind is asked below.

is "nothing uses the module" "$(cat /sys/module/pcce_sampler/refcnt)" 0
check "the module is removed" rmmod pcce_sampler
check "reload ends well" sh -c "reload /t/pcce_sampler.ko $reloads >reload.out"
cat reload.out
check "the module loads again" insmod /t/pcce_sampler.ko

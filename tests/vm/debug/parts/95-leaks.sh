# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Checks for leaked memory, and that the kernel's checks were on all the time.

echo 0 >/sys/kernel/rcu_expedited
leaks >leaks.after
is "no memory has leaked" "$(cat leaks.after)" ""
is "kmemleak has been on all the time" "$(dmesg | grep 'kmemleak:.*disabled')" ""
is "lockdep has been on all the time" "$(sed -n 's/^ *debug_locks: *//p' /proc/lockdep_stats)" 1

# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Tests that the module keeps the kernel's rules.  The module skid acts as a counter that interrupts
# late.

check "a counter that interrupts late is there" insmod /t/skid.ko
check "harmless ends well" sh -c 'harmless >harmless.out'
cat harmless.out
check "... and nothing uses the counter" rmmod skid

# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Each allocation refused, one after the other.

check "faults ends well" sh -c 'faults >faults.out'
cat faults.out

# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Tests a handler wherever one can run.

echo 1 >/sys/kernel/rcu_expedited
check "everywhere ends well" sh -c 'everywhere >everywhere.out'
cat everywhere.out

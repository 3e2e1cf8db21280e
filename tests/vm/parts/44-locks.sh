# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Records waits for locks.  run.sh checks who ended them.

pcce-record -q -b bpf -e lock -c 1000 -o locks.bpf -- contend normal pi cond join >locks.log 2>&1
is "waits for locks are recorded" "$? $(without_late_clock <locks.log)" "0 "
mv locks.bpf /out

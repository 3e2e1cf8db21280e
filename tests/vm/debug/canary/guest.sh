# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# /t/main of the machine whose kernel must complain.  KASAN comes last, because its first complaint
# turns lockdep off.

insmod /t/canary.ko mistake=leak 2>/dev/null
sleep 6
echo scan >/sys/kernel/debug/kmemleak
sleep 6
echo scan >/sys/kernel/debug/kmemleak
grep -c '^unreferenced object' /sys/kernel/debug/kmemleak
for mistake in sleep shift cpu rcu locks memory vmalloc; do
	insmod /t/canary.ko mistake=$mistake 2>/dev/null
done
exit 0

# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Tests running processes, set-uid programs, and the choice of the sampler.

long >/dev/null &
while ! grep -q '^Threads:.*[2-9]' /proc/$!/status; do usleep 10000; done
check "a running process is recorded" pcce-record -q -b kmod -p $! -F 1000 -o attached.kmod
wait $!
mv attached.kmod /out

cp /bin/recursion set-uid
chown 1000 set-uid
chmod 4755 set-uid
check "a set-uid program is recorded" pcce-record -q -b kmod -F 1000 -o set-uid.kmod -- ./set-uid
is "... and the missing part is reported" \
	"$(sed 's/first [0-9]* ms/first N ms/' check.log | grep -v '^[0-9]*$' | without_late_clock)" \
	"pcce-record: set-uid is set-uid or set-gid, so the kernel removed its events; its first N ms are not sampled"
mv set-uid.kmod /out

check "the module is preferred" sh -c 'pcce-record -F 100 -o auto.data -- true 2>&1 | grep "(kmod)"'

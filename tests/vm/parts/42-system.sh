# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# Records the whole system and several processes.  run.sh checks the recordings.

work 1000000 &
before=$!
check "the system is recorded" pcce-record -q -b bpf -F 500 -o system.bpf -a -- recursion
kill $before
wait $before
# Threads of the kernel run seldom, and switch often.
check "its switches are recorded" pcce-record -q -b bpf -e context-switches -c 1 -o switches.bpf \
	-a -- recursion
check "a user is recorded" pcce-record -q -b bpf -F 500 -o user.bpf -u 1000 -- \
	su -s /bin/sh other -c recursion

# They begin when the recorder is there.
work 1000 &
first=$!
work 1000 &
second=$!
kill -STOP $first $second
pcce-record -q -b bpf -F 500 -o several.bpf -p $first -p $second >several.log 2>&1 &
recorder=$!
while [ ! -e several.bpf ] && kill -0 $recorder; do usleep 10000; done
kill -CONT $first $second
wait $recorder
status=$?
without_late_clock <several.log >several.err
is "several processes are recorded" "$status $(cat several.err)" "0 "
mv system.bpf switches.bpf user.bpf several.bpf /out
check "kmod does not record the system, and says so" sh -c \
	'! pcce-record -q -b kmod -a -o refused -- true 2>refused.err &&
		grep "it records one process and its children" refused.err'

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Bad luck: programs that end, die, exec, are stripped, have no debug information, are
# set-uid, may not sample themselves, or are attached to while they run.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
# Without job control bash starts background commands with SIGINT ignored.
set -m
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
samplers=self
if has_bpf; then samplers="bpf self"; else skip "the same with BPF" "pcce-record cannot use BPF: $bpf_reason"; fi

# shellcheck disable=SC2086 # lists of flags
compile() { # SOURCE OUTPUT [FLAG...]
	local source=$1 output=$2
	shift 2
	$CC -O2 $cflags "$@" "$source" $ldflags -o "$output"
}

cat >endless.c <<'END'
#include <unistd.h>
#include "burn.h"
static NOINLINE void spin(int depth)
{
	if (depth)
		spin(depth - 1);
	else
		burn(100000);
	burn(1);
}
int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;

	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f))
		return 1;
	for (;;)
		spin(argc + 5);
}
END
check "builds without -g" compile endless.c endless -I"$w"
compile "$w/recursion.c" recursion -g
want=$(./recursion)

for s in $samplers; do
	# ends by itself at once
	record $s short.data sh -c 'exit 0'
	is "$s: a program that ends at once" $? 0

	# killed from outside
	rm -f pid
	(
		until [ -s pid ]; do sleep 0.1; done
		sleep 1
		kill -KILL "$(cat pid)"
	) &
	killer=$!
	timeout 30 pcce-record -b $s -F 1000 -o killed.data -- ./endless pid >killed.log 2>&1
	status=$?
	kill $killer 2>/dev/null
	wait $killer 2>/dev/null
	is "$s: a killed program's status is passed on" $status 137
	recording_is_exact "$s: what was recorded before is exact" killed.data 300

	# SIGINT to the recorder
	rm -f pid
	pcce-record -b $s -F 1000 -o int.data -- ./endless pid >int.log 2>&1 &
	recorder=$!
	sleep 1.5
	kill -INT $recorder
	check "$s: SIGINT ends the recording" timeout 10 tail --pid=$recorder -f /dev/null
	wait $recorder
	recording_is_exact "$s: a recording ended by SIGINT is exact" int.data 300
	kill "$(cat pid)" 2>/dev/null

	# exec, stripped, no debug information
	record $s exec.data sh -c 'exec ./recursion'
	is "$s: exec" "$(cat exec.data.out)" "$want"
	recording_is_exact "$s: exec: all samples exact" exec.data 30
	cp recursion stripped
	check "$s: strip" strip stripped
	record $s stripped.data ./stripped
	is "$s: stripped" "$(cat stripped.data.out)" "$want"
	recording_is_exact "$s: stripped: all samples exact" stripped.data 30
	check "$s: stripped: functions still have their names" \
		sh -c "pcce-report -i stripped.data --format=folded | grep -q 'main;.*walk;.*burn'"

	# the data file alone is enough
	mkdir -p gone
	cp recursion gone/recursion
	record $s gone.data gone/recursion
	rm -r gone
	recording_is_exact "$s: decodes after the program was deleted" gone.data 30

	# not instrumented at all
	record $s plain.data sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
	is "$s: a program without pcce" $? 0
	pcce-report -i plain.data --stats >plain.stats 2>&1
	is "$s: ... has only outside samples" "$(stat_of plain.data outside)" "$(stat_of plain.data samples)"
done

# attach to a running process
for s in $samplers; do
	if [ $s = self ]; then
		continue
	fi
	./endless pid &
	target=$!
	sleep 0.3
	pcce-record -b $s -F 1000 -o attach.data -p $target >attach.log 2>&1 &
	recorder=$!
	sleep 1.5
	kill -INT $recorder
	wait $recorder
	is "$s: -p ends with status 0 after SIGINT" $? 0
	check "$s: -p leaves the process alive" kill -0 $target
	kill $target
	wait $target 2>/dev/null
	recording_is_exact "$s: -p: all samples exact" attach.data 300
done
pcce-record -p 999999999 -o no.data >log 2>&1
check "-p of no process fails and says so" sh -c "[ $? != 0 ] && grep -q 999999999 log"

# set-uid: the dynamic linker's secure mode; run as another user
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 755 "$scratch"
	cp recursion setuid && chown 0:0 setuid && chmod 4755 setuid
	is "set-uid program, run by another user: output" "$($nobody ./setuid 2>&1)" "$want"
	mkdir -m 777 user
	$nobody "$(command -v pcce-record)" -b self -F 1000 -o user/setuid.data -- ./setuid >setuid.out 2>setuid.err
	is "set-uid program, recorded by another user: output" "$(cat setuid.out)" "$want"
	$nobody "$(command -v pcce-record)" -F 1000 -o user/auto.data -- ./recursion >auto.out 2>auto.err
	is "another user: output" "$(cat auto.out)" "$want"
	check "another user: says which sampler was taken" grep -Eq 'self|bpf' auto.err
	recording_is_exact "another user: all samples exact" user/auto.data 30
else
	skip "set-uid and other users" "needs root and setpriv"
fi

# A container's seccomp filter refuses perf_event_open (and bpf).
cat >refuse.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_perf_event_open, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof(f) / sizeof(f[0]), f};
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		return 99;
	execvp(argv[1], argv + 1);
	return 127;
}
END
$CC -O2 refuse.c -o refuse
./refuse pcce-record -F 1000 -o refuse.data -- ./recursion >refuse.out 2>refuse.err
is "without perf_event_open: output" "$(cat refuse.out)" "$want"
check "without perf_event_open: says that it takes the self sampler" grep -q self refuse.err
recording_is_exact "without perf_event_open: all samples exact" refuse.data 30
./refuse pcce-record -b bpf -F 1000 -o refuse2.data -- ./recursion >refuse2.out 2>refuse2.err
check "without perf_event_open: -b bpf fails and says why" sh -c "[ $? != 0 ] && [ -s refuse2.err ]"
done_testing

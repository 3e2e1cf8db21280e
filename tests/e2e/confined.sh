#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests programs and recorders with less than usual privilege: set-uid programs, file capabilities,
# other users, seccomp filters as containers have them, pid namespaces.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
for p in recursion mutual; do
	check "$p builds" $CC -O2 -g $cflags "$w/$p.c" $ldflags -o $p
done
want=$(./recursion)
record=$(command -v pcce-record)

# says FILE TEXT...: the file's only complaint is one line that has all texts
says() {
	local file=$1 text
	shift
	[ "$(grep -c . "$file")" = 1 ] || return 1
	for text in "$@"; do grep -q -e "$text" "$file" || return 1; done
}

# ---- set-uid -----------------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chmod 755 "$scratch"
	cp recursion to-root && chown 0:0 to-root && chmod 4755 to-root
	cp recursion to-nobody && chown 65534:65534 to-nobody && chmod 6755 to-nobody
	mkdir -m 777 user

	$nobody "$record" -b auto -p $$ -o user/attach.data >out 2>err
	check "another user: auto: a refusal does not advise what was refused" \
		grep -q 'not bpf: .*not self: .*start the command with pcce-record$' err
	is "another user: set-uid program: output" "$($nobody ./to-root 2>&1)" "$want"
	$nobody "$record" -q -b self -F 1000 -o user/setuid.data -- ./to-root >out 2>err
	is "another user: self: set-uid program: status" $? 0
	is "another user: self: set-uid program: output" "$(cat out)" "$want"
	check "another user: self: set-uid program: says that it is not sampled" \
		says err 'to-root is set-uid' 'cannot sample it' 'bpf as root'
	is "another user: self: set-uid program: no samples" "$(stat_of user/setuid.data samples)" 0
	$nobody "$record" -q -b self -F 1000 -o user/child.data -- sh -c './to-root; ./recursion' \
		>out 2>err
	is "another user: self: a set-uid child: output" "$(cat out)" "$want
$want"
	recording_is_exact "another user: self: programs that are not set-uid are exact" user/child.data 30
	$nobody "$record" -b self --verify -F 1000 -o user/verify.data -- ./to-root >out 2>err
	is "another user: --verify: set-uid program: output" "$(cat out)" "$want"
	$nobody "$record" -F 1000 -o user/auto.data -- ./recursion >out 2>err
	is "another user: auto: output" "$(cat out)" "$want"
	check "another user: auto: says which sampler was taken, and why" \
		grep -q 'using the self sampler; not bpf: it needs the capabilities' err
	recording_is_exact "another user: auto: all samples exact" user/auto.data 30
	$nobody "$record" -b bpf -F 1000 -o user/bpf.data -- ./recursion >out 2>err
	is "another user: bpf: status" $? 1
	check "another user: bpf: says why" says err \
		'cannot use the bpf sampler: it needs the capabilities CAP_BPF and CAP_PERFMON, or root'

	record self setuid-self.data ./to-nobody
	is "root: self: set-uid program: output" "$(cat setuid-self.data.out)" "$want"
	check "root: self: set-uid program: says that it is not sampled" \
		grep -q 'to-nobody is set-uid.*cannot sample it' setuid-self.data.err
	if has_bpf; then
		# The samples of the three programs may differ by little more than their beginnings,
		# if the machine lets the recorder look at once.
		are_similar() { [ $(($1 * 2)) -gt "$2" ] && [ $(($1 * 2)) -lt $(($2 * 3)) ]; }
		for _ in 1 2 3 4 5; do
			frequency=4000 record bpf plain.data \
				sh -c './recursion; ./recursion; ./recursion & wait'
			frequency=4000 record bpf setuid.data \
				sh -c './to-nobody; ./recursion; ./to-nobody & wait'
			set -- "$(stat_of setuid.data exact)" "$(stat_of plain.data exact)"
			! are_similar "$@" || break
		done
		is "root: bpf: set-uid programs: output" "$(cat setuid.data.out)" "$want
$want
$want"
		recording_is_exact "root: bpf: set-uid programs: all samples exact" setuid.data 300
		check "root: bpf: set-uid programs: says that their beginning is missing" \
			grep -q 'to-nobody is set-uid.*first [0-9]* ms' setuid.data.err
		check "root: bpf: set-uid programs: they are sampled, and once ($1 samples, $2 without)" \
			are_similar "$@"
	else
		skip "set-uid programs with BPF" "pcce-record cannot use BPF: $bpf_reason"
	fi

	# Tracing would take from these programs what they have more than others.
	$nobody "$record" -q --count -o user/count.data -- ./to-root >out 2>err
	check "another user: --count: set-uid program: says that it is refused" \
		says err 'to-root is set-uid or set-gid; count a copy'
	is "another user: --count: set-uid program: the command was not run" "$(cat out)" ""
	cp recursion can-raw
	if ! command -v setcap >/dev/null; then
		skip "file capabilities" "setcap is not installed"
	elif ! setcap cap_net_raw+ep can-raw 2>setcap.log; then
		skip "file capabilities" "$(tail -n 1 setcap.log)"
	else
		$nobody "$record" -q --count -o user/count.data -- ./can-raw >out 2>err
		check "another user: --count: file capabilities: says that they are refused" \
			says err 'can-raw has file capabilities; count a copy'
		is "another user: --count: file capabilities: the command was not run" \
			"$(cat out)" ""
		cp can-raw copy
		is "another user: --count: a copy is counted" \
			"$($nobody "$record" -q --count -o user/count.data -- ./copy 2>&1)" "$want"
		$nobody "$record" -q -b self -F 1000 -o user/raw.data -- ./can-raw >out 2>err
		is "another user: self: file capabilities: output" "$(cat out)" "$want"
		check "another user: self: file capabilities: says that it is not sampled" \
			says err 'can-raw has file capabilities' 'cannot sample it' 'bpf as root'
		is "root: --count: file capabilities: output" \
			"$("$record" -q --count -o count.data -- ./can-raw 2>&1)" "$want"
	fi
else
	skip "set-uid and other users" "needs root and setpriv"
fi

# ---- seccomp -----------------------------------------------------------------------------

# confine WHAT COMMAND...: perf, bpf or both are refused with EPERM, as container runtimes do
cat >confine.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	unsigned int perf = argc > 2 && strcmp(argv[1], "bpf") ? __NR_perf_event_open : -1u;
	unsigned int bpf = argc > 2 && strcmp(argv[1], "perf") ? __NR_bpf : -1u;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, perf, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof(f) / sizeof(f[0]), f};
	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		return 99;
	execvp(argv[2], argv + 2);
	return 127;
}
END
check "confine builds" $CC -O2 confine.c -o confine
if ./confine both true; then
	for what in perf bpf both; do
		case $what in
		perf | both) reason='cannot use perf_event_open: Operation not permitted: a container.s seccomp filter' ;;
		bpf) reason='cannot load the BPF program: Operation not permitted: a container.s seccomp filter' ;;
		esac
		[ "$(id -u)" = 0 ] || reason='it needs the capabilities'
		./confine $what pcce-record -F 1000 -o refused.data -- ./recursion >out 2>err
		is "$what refused to all: auto: output" "$(cat out)" "$want"
		check "$what refused to all: auto: takes the self sampler and says why" \
			grep -q "using the self sampler; not bpf: $reason" err
		recording_is_exact "$what refused to all: auto: all samples exact" refused.data 30
		./confine $what pcce-record -b bpf -F 1000 -o refused2.data -- ./recursion \
			>out 2>err
		is "$what refused to all: -b bpf: status" $? 1
		check "$what refused to all: -b bpf: says why" \
			says err "cannot use the bpf sampler: $reason"
		check "$what refused to all: -b bpf: the command was not run" [ ! -s out ]
	done
	record self inside.data ./confine both ./recursion
	is "refused to the program: self: output" "$(cat inside.data.out)" "$want"
	check "refused to the program: self: says that it uses a timer" \
		grep -q 'perf_event_open is not permitted: a timer is used' inside.data.err
	recording_is_exact "refused to the program: self: all samples exact" inside.data 30
	if has_bpf; then
		record bpf inside-bpf.data ./confine both ./recursion
		is "refused to the program: bpf: output" "$(cat inside-bpf.data.out)" "$want"
		recording_is_exact "refused to the program: bpf: all samples exact" \
			inside-bpf.data 30
	fi
else
	skip "seccomp filters" "this kernel, or a filter around us, does not take them"
fi

# A program that allows itself only read, write and exit is killed at any other system call.
cat >strict.c <<'END'
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "burn.h"
static NOINLINE void work(int depth)
{
	if (depth)
		work(depth - 1);
	burn(100000);
}
int main(void)
{
	for (int i = 0; i < 50; i++)
		work(20);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 99;
	for (int i = 0; i < 50; i++)
		work(20);
	write(1, "done\n", 5);
	syscall(SYS_exit, 0);
}
END
check "strict builds" $CC -O2 -g -I"$w" $cflags strict.c $ldflags -o strict
if [ "$(./strict)" = "done" ]; then
	for s in bpf self; do
		[ $s = self ] || has_bpf || continue
		record $s strict.data ./strict
		is "$s: seccomp's strict mode: not killed" "$? $(cat strict.data.out)" "0 done"
		recording_is_exact "$s: seccomp's strict mode: all samples exact" strict.data 10
		[ $s = bpf ] || check "$s: seccomp's strict mode: says how far it was sampled" \
			grep -q "disabled the clock for itself" strict.data.err
	done
else
	skip "seccomp's strict mode" "this kernel does not have it"
fi

# ---- pid namespaces ----------------------------------------------------------------------

if unshare --pid --fork --mount-proc true 2>/dev/null; then
	two='unshare --pid --fork ./mutual & unshare --pid --fork ./recursion & wait'
	both=$({ ./mutual; ./recursion; } | sort)
	for s in bpf self; do
		if [ $s = bpf ] && ! has_bpf; then
			skip "pid namespaces with BPF" "pcce-record cannot use BPF: $bpf_reason"
			continue
		fi
		# Two programs that both see themselves as process 1, recorded from outside and
		# from a namespace in between.
		for from in outside between; do
			between=
			[ $from = outside ] || between="unshare --pid --fork --mount-proc"
			$between pcce-record -q -b $s -F 4000 -o pidns.data -- sh -c "$two" \
				>out 2>err
			is "$s: two pid namespaces, from $from: output" "$(sort out)" "$both"
			recording_is_exact "$s: two pid namespaces, from $from: all samples exact" \
				pidns.data 300
			pcce-report -i pidns.data --format=folded >folded
			check "$s: two pid namespaces, from $from: both programs are there" \
				sh -c "grep -q 'walk;.*burn' folded && grep -q 'enter_b;.*burn' folded"
		done
		unshare --pid --fork --mount-proc pcce-record -q -b $s -F 1000 -o pidns.data -- \
			./recursion >out 2>err
		is "$s: all in one pid namespace: output" "$(cat out)" "$want"
		recording_is_exact "$s: all in one pid namespace: all samples exact" pidns.data 30
	done
	if has_bpf; then
		cat >tracepoint.sh <<'END'
mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing || exit 9
exec pcce-record -q -e raw_syscalls:sys_enter -c 1 -o tracepoint.data -- ./recursion
END
		unshare --mount --pid --fork --mount-proc sh tracepoint.sh >out 2>err
		if [ $? = 9 ]; then
			skip "a tracepoint in a pid namespace" "no tracefs"
		else
			is "a tracepoint in a pid namespace: output" "$(cat out)" "$want"
			check "a tracepoint in a pid namespace: samples ($(stat_of tracepoint.data samples)), none undecodable" \
				[ "$(stat_of tracepoint.data exact)" -ge 1 -a "$(stat_of tracepoint.data undecodable)" = 0 ]
		fi
	fi
else
	skip "pid namespaces" "needs the right to make them"
fi
done_testing

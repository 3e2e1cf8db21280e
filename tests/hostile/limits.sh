#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Takes resources away from recorded programs: by resource limits, landlock, chroot, closed
# descriptors, other users, a root file system that is read-only, and no /dev/shm.  A program that
# lives there without pcce must live and do the same with it, with and without a sampler.  Where
# samples cannot be taken, pcce-record says so.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

cat >limits.c <<'END_C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "deep.h"

static NOINLINE void work(void)
{
	for (int i = 0; i < 600; i++)
		burn(100000);
	deep(5000);
}

static void *in_thread(void *arg)
{
	work();
	return arg;
}

static const struct {
	const char *name;
	int resource;
	rlim_t limit;
} limits[] = {
	{"descriptors", RLIMIT_NOFILE, 3},	  {"locked memory", RLIMIT_MEMLOCK, 0},
	{"file size", RLIMIT_FSIZE, 0},		  {"address space", RLIMIT_AS, 128 << 20},
	{"data", RLIMIT_DATA, 32 << 20},	  {"pending signals", RLIMIT_SIGPENDING, 0},
	{"core dumps", RLIMIT_CORE, 0},		  {"message queues", RLIMIT_MSGQUEUE, 0},
	{"real-time priority", RLIMIT_RTPRIO, 0},
};

static int forbid_files(void)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = (1 << 13) - 1};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (rules < 0)
		return 1;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_landlock_restrict_self, rules, 0) ? 1 : close(rules);
}

/* Returns 0, or not if this cannot be done here. */
static int confine(const char *what)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit l = {limits[i].limit, limits[i].limit};

		if (!strcmp(what, limits[i].name))
			return setrlimit(limits[i].resource, &l);
	}
	if (!strcmp(what, "landlock"))
		return forbid_files();
	if (!strcmp(what, "chroot"))
		return mkdir("empty", 0500) && errno != EEXIST ? 1 : chroot("empty") || chdir("/");
	if (!strcmp(what, "no folder"))
		return mkdir("gone", 0700) || chdir("gone") || rmdir("../gone");
	if (!strcmp(what, "umask"))
		return umask(0777) == 0777;
	if (!strcmp(what, "closed descriptors")) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		return 0;
	}
	if (!strcmp(what, "another user"))
		return setgroups(0, NULL) || setgid(65534) || setuid(65534);
	return strcmp(what, "nothing");
}

int main(int argc, char **argv)
{
	char out[256] = "";
	pthread_t t;
	pid_t child;
	int status = 0, err;

	(void)argc;
	work();
	if (confine(argv[1]))
		return 77;
	work();
	err = pthread_create(&t, NULL, in_thread, NULL);
	if (!err)
		err = pthread_join(t, NULL);
	child = fork();
	if (child == 0) {
		work();
		_exit(7);
	}
	waitpid(child, &status, 0);
	snprintf(out, sizeof(out), "thread %d child %d\n", err, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return write(1, out, strlen(out)) < 0;
}
END_C
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
check "the program builds" $CC -O2 -g -pthread -I"$w" -I"$top/tests/hostile" $cflags limits.c $ldflags -o limits
check "the program builds without pcce" $CC -O2 -g -pthread -I"$w" -I"$top/tests/hostile" limits.c -o plain

samplers="self"
if has_bpf; then
	samplers+=" bpf"
else
	skip "bpf" "pcce-record cannot use BPF: $bpf_reason"
fi

# same NAME LEAST COMMAND...: ./PROGRAM in COMMAND does the same with pcce. At least LEAST samples.
same() {
	local name=$1 least=$2 sampler status
	shift 2
	rm -rf gone
	PROGRAM=plain "$@" >want 2>&1
	status=$?
	if [ $status = 77 ]; then
		skip "$name" "cannot be done here"
		return
	fi
	is "$name: without pcce" "$status $(cat want)" "0 thread 0 child 7"
	rm -rf gone
	PROGRAM=limits "$@" >got 2>&1
	is "$name: without a sampler" "$? $(cat got)" "0 $(cat want)"
	for sampler in $samplers; do
		rm -rf gone
		PROGRAM=limits frequency=2000 record $sampler l.data "$@"
		is "$name: $sampler" "$? $(cat l.data.out)" "0 $(cat want)"
		check "$name: $sampler: $(stat_of l.data samples) samples, at least $least" \
			[ "$(stat_of l.data samples)" -ge "$least" ]
		is "$name: $sampler: nothing undecodable" "$(stat_of l.data undecodable)" 0
		check "$name: $sampler: the samples add up" samples_add_up l.data
	done
}

# The output goes through a pipe, since a limit on files holds for it, too.
for what in nothing "locked memory" "file size" "address space" data "pending signals" \
	"core dumps" "message queues" "real-time priority" descriptors landlock "no folder" umask \
	"closed descriptors"; do
	same "$what" 60 bash -o pipefail -c "./\$PROGRAM '$what' | cat"
done
# Limits that the program was born with.  With -f 0 the self sampler can make no ring.
for limit in "-l 0" "-f 0" "-f 2000" "-v 300000" "-i 0"; do
	[ "$limit" != "-f 0" ] || samplers=${samplers/self/}
	same "ulimit $limit" 60 \
		bash -o pipefail -c "(ulimit $limit && exec ./\$PROGRAM nothing) | cat"
	[ "$limit" != "-f 0" ] || samplers="self$samplers"
done
record self l.data bash -o pipefail -c "(ulimit -f 0 && exec ./limits nothing) | cat"
is "ulimit -f 0: self" "$? $(cat l.data.out)" "0 thread 0 child 7"
check "ulimit -f 0: self: says why there are no samples" grep -q 'no process sampled itself' l.data.err

# The recorder raises its own limit, since each file that processes map needs a descriptor.
echo 'int main(void) { for (volatile int i = 0; i < 20000000; i++); return 0; }' >short.c
$CC -O2 $cflags short.c $ldflags -o short
mkdir short.d
for i in {1..60}; do cp short short.d/$i; done
# shellcheck disable=SC2016 # for the inner shell
short='for p in short.d/*; do $p; done; ulimit -Sn'
for sampler in $samplers; do
	(ulimit -Sn 40 && record $sampler l.data bash -c "$short")
	is "60 files, ulimit -Sn 40: $sampler: status and the program's limit" \
		"$? $(cat l.data.out)" "0 40"
	is "60 files, ulimit -Sn 40: $sampler: undecodable" "$(stat_of l.data undecodable)" 0
done
(ulimit -n 40 && record self l.data bash -c "$short")
is "60 files, ulimit -n 40: status and the program's limit" "$? $(cat l.data.out)" "0 40"
check "60 files, ulimit -n 40: says that files cannot be opened" \
	grep -q 'Too many open files; contexts lack its functions' l.data.err

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || {
	skip "chroot, other users, read-only systems" "needs root and mount namespaces"
	done_testing
}
chmod 755 .
for what in chroot "another user"; do
	same "$what" 60 bash -o pipefail -c "./\$PROGRAM '$what' | cat"
done
# shellcheck disable=SC2016 # for the inner shell
read_only='mount -t tmpfs none /proc; for m in / /tmp /dev/shm; do
	mount --bind $m $m && mount -o remount,bind,ro $m; done 2>/dev/null
	! touch /read-only 2>/dev/null && exec ./$PROGRAM nothing'
samplers=${samplers/self/}
same "a read-only system without /proc" 60 \
	bash -o pipefail -c "unshare -m sh -c '$read_only' | cat"
record self l.data bash -o pipefail -c "PROGRAM=limits unshare -m sh -c '$read_only' | cat"
is "a read-only system without /proc: self" "$? $(cat l.data.out)" "0 thread 0 child 7"
check "a read-only system without /proc: self: says why there are no samples" \
	grep -q 'no process sampled itself' l.data.err
done_testing

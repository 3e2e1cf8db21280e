#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Attacks the runtime with sandboxes: each kills the program at the first system call that its
# author did not expect. A program that lives without pcce must live with it, with and without a
# sampler.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

cat >sandbox.c <<'END_C'
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "deep.h"

static NOINLINE void work(void)
{
	for (int i = 0; i < 300; i++)
		burn(100000);
}

#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IF(nr, what) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, (what))

/* The ways to install a filter. */
static void install(const char *way, const struct sock_filter *filter, size_t n)
{
	struct sock_fprog p = {(unsigned short)n, (struct sock_filter *)filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(way, "prctl"))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	else if (!strcmp(way, "syscall"))
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
	else
		syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0);
}

/* Kills what a sampler might want, and allows what the program needs. */
static void forbid(const char *way)
{
	static const struct sock_filter filter[] = {
		LOAD,
		IF(SYS_open, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_openat, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_timer_create, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_timer_delete, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_fcntl, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_ioctl, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_getppid, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_readlink, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_rename, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_flock, SECCOMP_RET_KILL_PROCESS),
		IF(SYS_sigaltstack, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(way, filter, sizeof(filter) / sizeof(filter[0]));
}

/* Allows only to write and to end. */
static void lock_up(const char *way)
{
	static const struct sock_filter filter[] = {
		LOAD,
		IF(SYS_write, SECCOMP_RET_ALLOW),
		IF(SYS_exit_group, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	install(way, filter, sizeof(filter) / sizeof(filter[0]));
}

/* Code that no file contains. */
static void just_in_time(void)
{
	/* mov $N, %ecx; again: dec %ecx; jnz again; ret */
	static const unsigned char code[] = {0xb9, 0, 0, 0, 8, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, code, sizeof(code));
	for (int i = 0; i < 8; i++)
		((void (*)(void))p)();
}

static void *in_thread(void *arg)
{
	work();
	deep(5000);
	return arg;
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(9);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *way = argc > 2 ? argv[2] : "";
	pthread_t t;
	pid_t child;
	int status;

	work();
	if (!strcmp(what, "strict")) {
		if (!strcmp(way, "prctl"))
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		else if (!strcmp(way, "syscall"))
			syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
		else
			syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
		work();
		deep(5000);
		say("strict\n");
		syscall(SYS_exit, 0);
	}
	if (!strcmp(what, "locked")) {
		lock_up(way);
		work();
		deep(5000);
		say("locked\n");
		_exit(0);
	}
	forbid(way);
	work();
	deep(5000);
	if (!strcmp(what, "jit")) {
		just_in_time();
	} else if (!strcmp(what, "thread")) {
		pthread_create(&t, NULL, in_thread, NULL);
		pthread_join(t, NULL);
	} else if (!strcmp(what, "fork")) {
		child = fork();
		if (child == 0) {
			work();
			deep(5000);
			exit(7);
		}
		waitpid(child, &status, 0);
		say(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "child\n" : "dead child\n");
	}
	say("end\n");
	return 0;
}
END_C
check "the program builds" $CC -O2 -g -pthread -I"$w" -I"$top/tests/hostile" $cflags sandbox.c $ldflags -o sandbox
check "the program builds without pcce" $CC -O2 -g -pthread -I"$w" -I"$top/tests/hostile" sandbox.c -o plain
check "the program builds as a static one" $CC -O2 -g -pthread -static -I"$w" -I"$top/tests/hostile" $cflags sandbox.c \
	$ldflags -o static

./plain strict prctl >out 2>&1 || skip_all "this kernel, or a filter around us, does not take filters"

# lives NAME SAMPLES PROGRAM ARGUMENT...
lives() {
	local name=$1 minimum=$2 program=$3
	shift 3
	./plain "$@" >plain.out 2>&1
	is "$name: without pcce" $? 0
	"./$program" "$@" >s.out 2>&1
	is "$name: without a sampler" "$? $(cat s.out)" "0 $(cat plain.out)"
	frequency=5000 record self s.data "./$program" "$@"
	is "$name: self" "$? $(cat s.data.out)" "0 $(cat plain.out)"
	check "$name: self: $(stat_of s.data samples) samples, at least $minimum" \
		[ "$(stat_of s.data samples)" -ge "$minimum" ]
	is "$name: self: nothing undecodable" "$(stat_of s.data undecodable)" 0
}

for program in sandbox static; do
	for way in prctl syscall syscall-prctl; do
		lives "$program, strict mode by $way" 20 $program strict $way
		check "$program, strict mode by $way: says where sampling ended" \
			grep -q 'disabled the clock for itself' s.data.err
		lives "$program, only write and exit, by $way" 20 $program locked $way
		check "$program, only write and exit, by $way: says where sampling ended" \
			grep -q 'forbids the return from signal handlers' s.data.err
		for what in jit thread fork; do
			lives "$program, no open, no perf, no timer, by $way, then $what" 40 \
				$program $what $way
			[ $what = jit ] || check "$program, by $way, then $what: says what is missing" \
				grep -q 'it creates from then on are not sampled' s.data.err
		done
	done
done
frequency=5000 record_options=--verify record self s.data ./sandbox thread syscall
is "with --verify" "$? $(cat s.data.out)" "0 end"

# The unwinder of --verify makes system calls, too.
cat >few.c <<'END_C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ALLOW(n) BPF_JUMP(BPF_JMP | BPF_JEQ, n, 0, 1), BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)
static volatile unsigned int v;
static __attribute__((noinline)) void work(unsigned int n)
{
	while (n--)
		v++;
}
int main(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write), ALLOW(SYS_rt_sigreturn), ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {sizeof(f) / sizeof(*f), f};

	work(30000000);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 1;
	work(30000000);
	return write(1, "end\n", 4) != 4;
}
END_C
check "a program with few system calls builds" $CC -O2 -g $cflags few.c $ldflags -o few
frequency=5000 record_options=--verify record self s.data ./few
is "few system calls, with --verify" "$? $(cat s.data.out)" "0 end"
check "few system calls, with --verify: verified before" [ "$(stat_of s.data verified)" -gt 0 ]
check "few system calls, with --verify: not verified after" \
	[ "$(stat_of s.data verified)" -lt "$(stat_of s.data samples)" ]
done_testing

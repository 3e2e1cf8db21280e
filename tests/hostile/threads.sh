#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests threads on stacks that the program provides.  A thread that works without pcce must work
# with it, and nothing below its stack may change, whether or not its functions were bound before.
#
# Tests tasks that share memory and thread page with their creator (tasks.c), too: the program must
# work as without pcce, and contexts must be exact or marked.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

cat >stacks.c <<'END'
/* stacks KIB: runs threads on a stack of KIB KiB, with bytes below it that must stay.  Prints
 * how far below the stack something was written, or the error of pthread_create(). */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD 65536
#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sum;
static jmp_buf env;

static NOINLINE void jump(void)
{
	longjmp(env, 1);
}

static NOINLINE unsigned int down(unsigned int n);

static NOINLINE unsigned int other(unsigned int n)
{
	return down(n) + 1;
}

/* Two sites alternate, so each call has its own entry: 40 levels are more than two segments. */
static NOINLINE unsigned int down(unsigned int n)
{
	unsigned int r = n == 0 ? 0 : n % 2 ? down(n - 1) : other(n - 1);

	sum += r;
	return r;
}

static void *work(void *arg)
{
	if (!setjmp(env))
		jump();
	down(40);
	/* Bound when it is called, by the program itself. */
	sum += (unsigned long)atoi("12");
	if (arg)
		pthread_exit(NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	size_t size = (size_t)atoi(argv[argc - 1]) * 1024;
	unsigned char *memory = mmap(NULL, GUARD + size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	size_t touched = 0;

	memset(memory, 0xa5, GUARD);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, memory + GUARD, size);
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		int err = pthread_create(&t, &attr, work, i == 2 ? &attr : NULL);

		if (err) {
			printf("error %d\n", err);
			return 1;
		}
		pthread_join(t, NULL);
	}
	while (touched < GUARD && memory[touched] == 0xa5)
		touched++;
	printf("%zu bytes below %lu\n", GUARD - touched, sum);
	return 0;
}
END

flags=$(pcce-config --cflags) link=$(pcce-config --ldflags)
$CC -O2 -g stacks.c -o plain -pthread -Wl,-z,lazy || exit 1
for kind in "" -static "-fPIC -shared"; do
	name=${kind:+ (${kind##*-})}
	if [ "$kind" = "-fPIC -shared" ]; then
		# The program's code is in a library, and the runtime in libpcce.so.
		echo 'extern int run(int, char **); int main(int c, char **v) { return run(c, v); }' >main.c
		check "builds$name" sh -c "
			$CC -O2 -g $flags -fPIC -shared -Dmain=run stacks.c -o libstacks.so -pthread -Wl,-z,lazy $link &&
			$CC main.c -o pcce -L. -lstacks -Wl,-rpath,\$PWD -pthread -Wl,-z,lazy $link"
	else
		check "builds$name" $CC -O2 -g $flags $kind stacks.c -o pcce -pthread -Wl,-z,lazy $link
	fi
	for kib in 16 20 24 28 32 40 48 64 128; do
		for now in "" 1; do
			is "a stack of $kib KiB${now:+, bound at the start}$name" \
				"$(LD_BIND_NOW=$now ./pcce $kib 2>&1)" "$(./plain $kib)"
		done
	done
done
# ---- tasks that share the page ----------------------------------------------------------

# What an exact context can be.  A task that runs beside its creator has none.
own='(work;)?(deep;)*[^;]*(;[^;]*)?$'
declare -A chains=(
	[beside]="(main;)?many;(nested;)*(beside;(begin;)?)?$own"
	[failing]="(main;)?many;(nested;)*(beside;(begin;)?)?$own"
	[syscall]="(main;)?many;(nested;)*(beside;(begin;(system_call;)?)?)?$own"
	[refused]="(main;)?many;(nested;)*(beside;(begin;(system_call;)?)?)?$own"
	[waiting]="(main;)?many;(nested;)*(beside;(begin;(task;(ends_deep;)+(of_task;)?)?)?)?$own"
)

# NAME DATA WHAT REASON: all is exact and one of the possible chains, or marked with the reason
contexts_are_right() {
	local wrong
	pcce-report -q -i "$2" --stats >"$2.stats" 2>&1
	is "$1: nothing else is marked" \
		"$(grep -E '^(truncated: [^0]|undecodable_)' "$2.stats" | grep -Ev "^undecodable_($4): ")" ""
	# Before main() and after it there are other functions.
	wrong=$(pcce-report -q -i "$2" --no-kernel --format=folded | sed 's/ [0-9]*$//' |
		grep -E '(^|;)(many|nested|beside|begin|task|of_task|ends_deep|work|deep|spin)(;|$)' |
		grep -Ev "^\[undecodable: ($4)\]|^(main;)?many$|^${chains[$3]}")
	is "$1: what is exact is right" "$wrong" ""
	check "$1: there are samples" test "$(stat_of "$2" samples)" -ge 20
}

tasks=$top/tests/hostile/tasks.c
for kind in "" -static -fPIC\ -pie; do
	name=${kind:+ ($kind)}
	check "tasks are built$name" $CC -O2 -g $flags $kind "$tasks" -o tasks -pthread $link || continue
	for what in "beside 1" "beside 3" "failing 3" "waiting 3" "syscall 1" "refused 3" "raw 1"; do
		set -- $what
		good=$((40 * $2))
		is "$what: several runs, all tasks and their creator end well$name" "$(
			for _ in 1 2 ${PCCE_TEST_LONG:+3 4 5}; do timeout 300 ./tasks $what 40; done 2>&1 | uniq
		)" $good
		[ -n "${chains[$1]-}" ] || continue
		for sampler in self bpf; do
			if [ $sampler = bpf ] && ! has_bpf; then
				skip "$what, $sampler$name" "$bpf_reason"
				continue
			fi
			is "$what, $sampler: the program does the same$name" "$(timeout 300 pcce-record -q \
				-b $sampler -F 2000 -o tasks.data -- ./tasks $what 40 2>tasks.err)" $good
			contexts_are_right "$what, $sampler$name" tasks.data "$1" "shared_page|restoring"
			case $1 in failing | refused)
				check "  most are exact" [ $((2 * $(stat_of tasks.data exact))) -gt "$(stat_of tasks.data samples)" ] ;;
			esac
		done
	done
done
if [ -e "$out/lib/pcce/libpcce-verify.so" ]; then
	$CC -O2 -g $flags "$tasks" -o tasks -pthread $link
	for what in beside waiting; do
		pcce-record -q --verify -o verify.data -- ./tasks $what 3 40 >/dev/null 2>&1
		pcce-report -q -i verify.data --stats >verify.data.stats 2>&1
		is "$what: no context differs from the real stack" "$(stat_of verify.data mismatches)" 0
	done
else
	skip "tasks: contexts are the real stack" "no libpcce-verify.so"
fi
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 900
#
# pcce-record --count --hot: counts of calls in bounded memory.  The exact counts of the same
# program, which suite e2e/count tests, are within the bounds, and no hot context is missing.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/hot/bounds.sh"
cd "$scratch" || exit 1
workloads=$top/tests/workloads

# build PROGRAM SOURCE FLAG...
build() {
	local program=$1 source=$2 compiler=$CC
	shift 2
	case $source in *.cc) compiler=$CXX ;; esac
	# shellcheck disable=SC2046 # lists of flags
	$compiler $(sed -n 's/^ \* flags: *//p' "$source" | sed 's/-O[0-9s]//g') "$@" \
		-DPCCE_STEPPED -I"$top/include" -I"$top/userlib" -g $(pcce-config --cflags) \
		"$source" $(pcce-config --ldflags) -o "$program" 2>build.log
}

# count DATA OPTIONS COMMAND...: counts; the command's output is in DATA.out
count() {
	local data=$1 options=$2
	shift 2
	rm -f "$data"
	# shellcheck disable=SC2086
	timeout -k 5 300 pcce-record --count $options -o "$data" -- "$@" >"$data.out" \
		2>"$data.err" </dev/null
	echo $? >"$data.status"
}

# within_bounds NAME PARAMETERS COMMAND...
within_bounds() {
	local name=$1 p parameters=$2
	shift 2
	count exact.data --engine=cct "$@"
	counts exact.data >exact.counts
	for p in $parameters; do
		count hot.data "--hot=$p" "$@"
		is "$name, $p: status and output" "$(cat hot.data.status hot.data.out)" \
			"$(cat exact.data.status exact.data.out)"
		counts hot.data >hot.counts
		bounds_hold "$name, $p: $(wc -l <exact.counts) counts are within their bounds" \
			exact.counts hot.counts "${p%,*}"
		check "$name, $p: $(stat_of hot.data unique_contexts) contexts, at most 2 / epsilon" \
			[ "$(stat_of hot.data unique_contexts)" -le \
			"$((2 * $(stat_of hot.data hot_counters) + 2))" ]
		is "$name, $p: nothing is lost" "$(stat_of hot.data lost)" 0
	done
}

# With so few counters, contexts lose and get them all the time.
for workload in asm_calls exceptions fork indirect longjmp mutual origins recursion replaced \
	setjmp signal_kinds tailcalls threads; do
	source=$(echo "$workloads/$workload".c*)
	if build "$workload" "$source" -O2; then
		within_bounds "$workload" "0.5,0.3 0.05,0.01" "./$workload"
	else
		not_ok "$workload: builds" build.log
	fi
done

if build tree "$top/tests/e2e/count/tree.c" -O1; then
	within_bounds "a flat tree" "0.3,0.01 0.01,0.001 0.0001" ./tree
	check "a flat tree: there were more contexts than counters" \
		[ "$(stat_of exact.data unique_contexts)" -gt 50000 ]
else
	not_ok "a flat tree: builds" build.log
fi

# Each thread has its own counters.  They merge.
cat >many.c <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
__attribute__((noinline)) static unsigned int leaf(unsigned int n)
{
	__asm__ volatile("");
	return n;
}
__attribute__((noinline)) static unsigned int f(unsigned int n)
{
	unsigned int r = leaf(n);
	__asm__ volatile("");
	return n ? f(n - 1) + r : 0;
}
static void *body(void *arg)
{
	for (unsigned int i = 0; i < 5000; i++)
		f((i + (unsigned int)(uintptr_t)arg) % 20 + (uintptr_t)arg);
	return arg;
}
int main(void)
{
	pthread_t t[40];
	for (uintptr_t i = 0; i < 40; i++)
		pthread_create(&t[i], NULL, body, (void *)i);
	for (int i = 0; i < 40; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
if build many many.c -O1 -pthread; then
	within_bounds "40 threads" "0.3,0.2 0.05,0.02 0.001" ./many
else
	not_ok "40 threads: builds" build.log
fi

# Signals arrive at any instruction, also of the counting code.  Some handlers leave with a jump.
cat >interrupted.c <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
static volatile unsigned int f_calls, g_calls, handlers, turns;
static sigjmp_buf back;
__attribute__((noinline)) static void g(unsigned int n)
{
	g_calls++;
	if (n)
		g(n - 1);
}
static void on_alarm(int sig)
{
	(void)sig;
	handlers++;
	g(handlers % 40);
	if (handlers % 50 == 0)
		siglongjmp(back, 1);
}
__attribute__((noinline)) static void f(unsigned int n)
{
	f_calls++;
	if (n)
		f(n - 1);
}
int main(void)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never;
	struct sigaction a;
	memset(&a, 0, sizeof(a));
	memset(&never, 0, sizeof(never));
	a.sa_handler = on_alarm;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	sigsetjmp(back, 1);
	while (handlers < 3000)
		f(turns++ % 90);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%u %u\n", g_calls, handlers);
	return 0;
}
END
if build interrupted interrupted.c -O1; then
	count hot.data --hot=0.3,0.1 ./interrupted
	read -r g handlers <hot.data.out
	# f counts its calls after its entry: a jump may come in between.
	counts hot.data >hot.counts
	is "signals: status" "$(cat hot.data.status)" 0
	is "signals: nothing is lost" "$(stat_of hot.data lost)" 0
	count all.data --hot=0.0001 ./interrupted
	read -r g handlers <all.data.out
	pcce-report -q -i all.data --format=folded >all.folded
	for function in "g $g" "on_alarm $handlers"; do
		wanted=${function#* }
		got=$(awk -v f="${function% *}" '
			{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, frames, ";") }
			frames[k] == f { sum += n }
			END { print sum }' all.folded)
		check "signals: ${function% *} is entered $wanted times, of them $((wanted - got)) marked" \
			[ "$got" -le "$wanted" -a "$((got + $(stat_of all.data undecodable)))" -ge "$wanted" ]
	done
else
	not_ok "signals: builds" build.log
fi

# The engine tells apart what a handler interrupts in the C library.  The recording does not.
cat >library.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
static volatile unsigned int leaves, handlers;
static char buffer[3000];
__attribute__((noinline)) static void leaf(void)
{
	leaves++;
}
static void on_alarm(int sig)
{
	(void)sig;
	handlers++;
	leaf();
}
int main(void)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never;
	struct sigaction a;
	memset(&a, 0, sizeof(a));
	memset(&never, 0, sizeof(never));
	a.sa_handler = on_alarm;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handlers < 2000) {
		leaf();
		snprintf(buffer, sizeof(buffer), "%g %0200d", handlers / 3.0, 7);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%u\n", leaves + handlers + 1);
	return 0;
}
END
if build library library.c -O1; then
	count hot.data --hot=0.3,0.05 ./library
	is "signals in a library: status" "$(cat hot.data.status)" 0
	# leaf may be interrupted between its entry and its increment, which handlers then undo.
	taken=$(stat_of hot.data taken)
	check "signals in a library: $taken calls, $(cat hot.data.out) by the program" \
		[ "$taken" -ge "$(cat hot.data.out)" -a "$taken" -le $(($(cat hot.data.out) + 20)) ]
	is "signals in a library: nothing is lost" "$(stat_of hot.data lost)" 0
else
	not_ok "signals in a library: builds" build.log
fi

# ---- options -------------------------------------------------------------------------------

count hot.data --engine=hcct ./many
is "the default epsilon" "$(stat_of hot.data hot_epsilon) $(stat_of hot.data hot_counters)" "2e-05 50000"
pcce-record --count --engine=cct --hot -o no.data -- ./many >refused 2>&1
is "--hot with another engine is refused" "$? $(head -n 1 refused)" \
	"64 pcce-record: cannot use --hot with --engine=cct: leave out one of them, or use --engine=hcct"

done_testing

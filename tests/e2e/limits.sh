#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests samplers at the kernel's limits: memory that does not exist yet, throttled events.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
has_bpf || skip_all "pcce-record cannot use BPF: $bpf_reason"

# The page-faults event comes before the faulting instruction has completed: at the first write to
# each page of the area, in the middle of a copy.
check "segments builds" $CC -O2 -g $cflags "$top/tests/workloads/segments.c" $ldflags -o segments
pcce-record -q -b bpf -e page-faults -c 1 -o faults.data -- ./segments >faults.out 2>faults.err
is "page faults: output" "$(cat faults.out)" "$(./segments)"
recording_is_exact "page faults: all samples exact" faults.data 12
deep=$(pcce-report -i faults.data --format=folded | awk -F ";" "NF > 300" | wc -l)
check "page faults: some are deep ($deep)" [ "$deep" -ge 12 ]

# The encoding stack outgrows its area of 2^20 entries. When it has shrunk below that again,
# contexts are as deep as if it had not.
cat >shrunk.c <<'END'
#include <stdlib.h>

static unsigned int mark_level, sum;

__attribute__((noinline)) static void at_mark(void)
{
	/* Some seconds of work, four cycles each: a sample copies only a part of the deep stack. */
	for (unsigned int i = 0, x = 0; i < 4000000000u; i++) {
		x = x * 1664525u + 1013904223u;
		__asm__ volatile("" : "+r"(x));
	}
}

static void level(unsigned int n, unsigned int random);

__attribute__((noinline)) static void between(unsigned int n, unsigned int random)
{
	level(n, random);
	sum++;
}

/* Irregular recursion, but with repetitions: each level calls the next one by itself or not. */
__attribute__((noinline)) static void level(unsigned int n, unsigned int random)
{
	random = random * 1664525u + 1013904223u;
	if (!n)
		return;
	if (random >> 31)
		between(n - 1, random);
	else
		level(n - 1, random);
	sum++;
	if (n == mark_level)
		at_mark();
}

int main(int argc, char **argv)
{
	unsigned int levels = atoi(argv[1]);

	(void)argc;
	mark_level = levels - atoi(argv[2]);
	level(levels, 1);
	return 0;
}
END
check "shrunk builds" $CC -O2 -g -fno-optimize-sibling-calls $cflags shrunk.c $ldflags -o shrunk
depth_at_mark() { # LEVELS: 800,000 levels below the first
	(ulimit -s unlimited && pcce-record -q -b bpf -F 500 -o "$1.data" -- ./shrunk "$1" 800000) 2>"$1.err"
	pcce-report -q -i "$1.data" --focus=at_mark --stats >"$1.stats"
	sed -n 's/^max_depth: //p' "$1.stats"
}
if (ulimit -s unlimited) 2>/dev/null; then
	shallow=$(depth_at_mark 850000)
	check "a stack within the area: depth ${shallow:-none}" [ "${shallow:-0}" -ge 800000 ]
	is "a stack that was beyond the area: the same depth" "$(depth_at_mark 2500000)" "$shallow"
	check "... and most contexts there are exact" \
		[ "$(sed -n 's/^exact: //p' 2500000.stats)" -gt "$(sed -n 's/^samples: //p' 2500000.stats | awk '{ print int($1 / 4) }')" ]
else
	skip "a stack that was beyond the area" "needs the right to have an unlimited stack"
fi

# A limit that is lowered during the recording throttles the event.
limit=/proc/sys/kernel/perf_event_max_sample_rate
old=$(cat $limit)
cat >endless.c <<'END'
#include <unistd.h>
#include "burn.h"
int main(void)
{
	FILE *f = fopen("pid", "w");

	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f))
		return 1;
	for (;;)
		burn(1000);
}
END
check "endless builds" $CC -O2 -g -I"$top/tests/workloads" $cflags endless.c $ldflags -o endless
if [ "$old" -ge 5000 ] && echo "$old" 2>/dev/null >$limit; then
	trap 'echo $old >$limit; rm -rf "$scratch"' EXIT
	timeout 600 pcce-record -b bpf -F 5000 -o throttle.data -- ./endless 2>throttle.err &
	recorder=$!
	wait_for_samples throttle.data 600
	echo 500 >$limit
	wait_for_cpu "$(cat pid)" 300
	echo "$old" >$limit
	kill -INT $recorder
	wait $recorder
	throttled=$(stat_of throttle.data lost_throttle)
	check "throttled: --stats has the missing samples (${throttled:-none})" \
		[ "${throttled:-0}" -ge 100 ]
	is "throttled: the lost samples have reasons" "$(stat_of throttle.data lost)" \
		"$(awk '/^lost_/ { sum += $2 } END { print sum }' throttle.data.stats)"
	check "throttled: pcce-record warns once" \
		[ "$(grep -c 'lost: the kernel throttled the event.*lower -F' throttle.err)" = 1 ]
	check "throttled: the other samples are exact" \
		[ "$(stat_of throttle.data exact)" = "$(($(stat_of throttle.data samples) - $(stat_of throttle.data outside)))" ]
else
	skip "throttled events" \
		"needs the right to change kernel.perf_event_max_sample_rate, and a limit of at least 5,000"
fi
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 600
#
# pcce-record --count --burst: calls are counted in bursts.  A burst begins at any instruction, with
# any stack.  Each context must be one of the exact tree, and have no more calls than there.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
. "$top/tests/e2e/hot/bounds.sh"
cd "$scratch" || exit 1

# in_bursts NAME BURSTS COMMAND...  Adaptive bursts have estimates, which may be larger than the
# exact counts.
in_bursts() {
	local name=$1 bursts=$2 b
	shift 2
	record_counts exact.data --engine=cct "$@"
	counts exact.data >exact.counts
	for b in $bursts; do
		record_counts burst.data "${b/,--/ --}" "$@"
		is "$name, $b: status and output" "$(cat burst.data.status burst.data.out)" \
			"$(cat exact.data.status exact.data.out)"
		counts burst.data | grep -v '\[cold\]$' >burst.counts
		[[ $b != *adaptive* ]] || sed -i 's/^[1-9][0-9]*/1/' burst.counts
		is "$name, $b: $(wc -l <burst.counts) contexts are there, with no more calls" "$(awk '
			{ n = $1; sub(/^[0-9]+ [0-9]+ /, "") }
			NR == FNR { exact[$0] = n; next }
			n > exact[$0] + 0 { print n, "of", exact[$0] + 0, $0 }' exact.counts burst.counts |
			head -n 5)" ""
		is "$name, $b: all are exact" "$(stat_of burst.data undecodable)" \
			"$(stat_of exact.data undecodable)"
		is "$name, $b: nothing is lost" "$(stat_of burst.data lost)" 0
		[[ $b != *adaptive* ]] || continue
		check "$name, $b: $(stat_of burst.data taken) of $(stat_of exact.data taken) calls" \
			[ "$(stat_of burst.data taken)" -ge "$least" -a \
			"$(stat_of burst.data taken)" -le "$(stat_of exact.data taken)" ]
	done
}

build tree "$here/tree.c" -O1
least=1000
in_bursts "a flat tree" "--burst=0.1ms/0.3ms --burst=0.2ms/2ms,--hot=0.001 --burst=20us/50us" \
	./tree 150000 6

# These are short, so few bursts are in them, and each run has others.
least=0
for workload in exceptions fork indirect longjmp mutual recursion setjmp tailcalls threads; do
	if build "$workload" "$(echo "$workloads/$workload".c*)" -O2 -DPCCE_STEPPED; then
		in_bursts "$workload" "--burst=20us/40us --burst=10us/30us \
			--burst=20us/40us,--hot=0.01 --burst=20us/40us,--engine=lossy \
			--burst=20us/40us,adaptive=0.3" \
			"./$workload"
	else
		not_ok "$workload: builds" build.log
	fi
done

# ---- adaptive bursts -----------------------------------------------------------------------

# All bursts begin in one of two contexts.  Those that are counted count for those that are skipped.
cat >loop.c <<'END'
static volatile unsigned int calls;
__attribute__((noinline)) static void leaf(void)
{
	calls++;
}
int main(void)
{
	while (calls < 600000000)
		leaf();
	return 0;
}
END
if build loop loop.c -O1; then
	# On a busy machine a burst may last a hundred times as long as asked for, and a few such
	# ones decide how many calls are counted.  Without the weights there are always too few.
	# And the first burst may end before main's only call, if the program has to wait.
	for ((attempt = 1; attempt <= 5; attempt++)); do
		record_counts static.data --burst=0.2ms/0.8ms ./loop
		record_counts adaptive.data --burst=0.2ms/0.8ms,adaptive=0.1 ./loop
		status="$(cat static.data.status adaptive.data.status)"
		fixed=$(stat_of static.data taken) adaptive=$(stat_of adaptive.data taken)
		contexts=$(counts adaptive.data | sed 's/.*;//; s/@.*//' | sort)
		[ "$adaptive" -gt $((fixed / 3)) ] && [ "$adaptive" -lt $((fixed * 3)) ] &&
			[[ $contexts = *main ]] && break
	done
	is "adaptive: status" "$status" "0
0"
	check "adaptive: $adaptive calls are counted in place of $fixed (attempt $attempt)" \
		[ "$attempt" -le 5 ]
	bursts=$(sed -n 's/.* calls in \([0-9]*\) bursts.*/\1/p' adaptive.data.err)
	skipped=$(sed -n 's/^pcce-record: \([0-9]*\) bursts of threads were skipped.*/\1/p' \
		adaptive.data.err)
	# A busy machine does not let the program run in all of them.
	check "adaptive: $skipped of $bursts bursts are skipped" \
		[ "$skipped" -gt 20 -a "$skipped" -lt "$bursts" ]
	is "adaptive: the contexts" "$contexts" "leaf
main"
else
	not_ok "adaptive: builds" build.log
fi

# ---- the first burst -----------------------------------------------------------------------

# The program is loaded for longer than the burst lasts.  The next one never comes.
cat >slow.c <<'END'
#include <unistd.h>
__attribute__((constructor)) static void load(void)
{
	usleep(50000);
}
END
cat >fast.c <<'END'
__attribute__((noinline)) static int leaf(int n)
{
	return n * 3;
}
int main(int argc, char **argv)
{
	(void)argv;
	return leaf(argc) - 3;
}
END
check "the first burst: builds" bash -c "$CC -O1 -c slow.c && $CC -O1 $(pcce-config --cflags) \
	fast.c slow.o $(pcce-config --ldflags) -o slow"
# The program may have to wait for longer than that between its two calls.
for _ in 1 2 3 4 5; do
	record_counts first.data --burst=2ms/1000s ./slow
	[ "$(stat_of first.data taken)" -lt 2 ] || break
done
is "the first burst begins with the first call" "$(pcce-report -q -i first.data --format=folded)" \
	"main 1
main;leaf 1"

# ---- a burst that begins in a deep stack -----------------------------------------------------

# No counter of an earlier burst has brought the more than 512 segments below.
cat >deep.c <<'END'
static volatile unsigned int calls;
__attribute__((noinline)) static void leaf(void)
{
	calls++;
}
static unsigned int odd(unsigned int n);
__attribute__((noinline)) static unsigned int even(unsigned int n)
{
	unsigned int r;

	if (!n) {
		while (calls < 60000000)
			leaf();
		return 1;
	}
	r = n * 2654435761u >> 31 ? odd(n - 1) : even(n - 1);
	return r + 1;
}
static unsigned int odd(unsigned int n)
{
	unsigned int r = n ? (n * 2246822519u >> 31 ? odd(n - 1) : even(n - 1)) : even(0);

	return r + 2;
}
int main(void)
{
	return !even(30000);
}
END
if build deep deep.c -O1 -fno-optimize-sibling-calls; then
	record_counts deep.data --burst=0.2ms/2ms ./deep
	is "a deep stack: status" "$(cat deep.data.status)" 0
	is "a deep stack: nothing is lost" "$(stat_of deep.data lost)" 0
	is "a deep stack: all are exact" "$(stat_of deep.data exact)" "$(stat_of deep.data taken)"
	check "a deep stack: depth $(stat_of deep.data max_depth) is seen" \
		[ "$(stat_of deep.data max_depth)" -ge 30000 ]
else
	not_ok "a deep stack: builds" build.log
fi

# ---- options -------------------------------------------------------------------------------

record_counts burst.data --burst ./tree 150000 6
check "the number and share of bursts are told" grep -q \
	'calls in [0-9]* bursts, [0-9.]*% of the time' burst.data.err
check "the event is told" bash -c \
	"pcce-report -q -i burst.data --format=json | grep -q '^\"event\":\"calls in bursts\"'"
is "bad options are refused" "$(for bursts in 2 2ms 2ms/ 2ms/2 x/y 2ms/1ms 1us/1ms 0ms/1ms; do
	pcce-record --count --burst="$bursts" -o none.data -- ./tree 2>&1 | head -n 1
done
pcce-record --burst -o none.data -- ./tree 2>&1 | head -n 1
pcce-record --count --engine=empty --burst -o none.data -- ./tree 2>&1 | head -n 1
pcce-record --count --hot --burst=2ms/20ms,adaptive -o none.data -- ./tree 2>&1 | head -n 1
pcce-record --count --burst=2ms/20ms,adaptive=2 -o none.data -- ./tree 2>&1 | head -n 1)" \
	"pcce-record: cannot use --burst: '2' is not LENGTH/INTERVAL, such as 2ms/20ms
pcce-record: cannot use --burst: '2ms' is not LENGTH/INTERVAL, such as 2ms/20ms
pcce-record: cannot use --burst: '2ms/' has an INTERVAL that is not a number with us, ms or s
pcce-record: cannot use --burst: '2ms/2' has an INTERVAL that is not a number with us, ms or s
pcce-record: cannot use --burst: 'x/y' is not LENGTH/INTERVAL, such as 2ms/20ms
pcce-record: cannot use --burst: '2ms/1ms' has an INTERVAL that is not 10us above LENGTH
pcce-record: cannot use --burst: '1us/1ms' has a LENGTH below 10us
pcce-record: cannot use --burst: '0ms/1ms' is not LENGTH/INTERVAL, such as 2ms/20ms
pcce-record: cannot use --burst without --count; add --count
pcce-record: cannot use --burst with --engine=empty: leave out one of them
pcce-record: cannot use adaptive bursts with --hot or another engine than cct: leave out adaptive
pcce-record: cannot use --burst: '2ms/20ms,adaptive=2' has an end that is not adaptive=RATIO, from 0.000001 to 0.5"

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 600
#
# pcce-record --count with samples beside: the recording has exact calls, and samples that decode in
# spite of the added code.  All functions of a sample have been entered, so its context must be one
# of those that were counted.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
cd "$scratch" || exit 1

samplers=self
if has_bpf; then samplers="self bpf"; else skip "with bpf" "$bpf_reason"; fi

# samples_of DATA NAME: prints one value of pcce-report --stats of the samples
samples_of() {
	pcce-report -q -i "$1" --stats --event=1 2>/dev/null | sed -n "s/^$2: *//p"
}

# unknown_contexts DATA: prints samples in contexts that were not counted.  Code that is not
# instrumented may follow a context, or run before main and at the ends of threads.
unknown_contexts() {
	pcce-report -q -i "$1" --format=folded --no-inline --event=0 2>/dev/null >"$1.calls"
	pcce-report -q -i "$1" --format=folded --no-inline --event=1 2>/dev/null >"$1.samples"
	awk '
		{ weight = $NF; sub(/ [0-9]+$/, "") }
		NR == FNR {
			n = split($0, frames, ";")
			counted[$0] = entered[frames[n]] = 1
			next
		}
		/\[(undecodable|thread without pcce|truncated)/ { next }
		{
			path = $0
			while (path != "" && !(path in counted)) {
				last = path
				sub(/.*;/, "", last)
				if (last in entered) { print weight, $0; break }
				if (!sub(/;[^;]*$/, "", path)) break
			}
		}' "$1.calls" "$1.samples"
}

# samples_hold NAME DATA MINIMUM: with ${allow_marked:-0} percent of undecodable samples
samples_hold() {
	local name=$1 data=$2 taken lost undecodable
	taken=$(samples_of "$data" taken) lost=$(samples_of "$data" lost)
	undecodable=$(samples_of "$data" undecodable)
	check "$name: $taken samples, at least $3" [ "$taken" -ge "$3" ]
	check "$name: $undecodable of $taken samples are undecodable" \
		[ $((undecodable * 100)) -le $((taken * ${allow_marked:-0})) ]
	[ "$(samples_of "$data" due)" = "not known" ] ||
		is "$name: what was due is taken, merged, in the kernel or lost" \
			"$(samples_of "$data" due)" "$((taken + lost +
			$(samples_of "$data" merged) + $(samples_of "$data" kernel)))"
	is "$name: samples are in contexts that were counted" \
		"$(unknown_contexts "$data" | head -n 5)" ""
	is "$name: nothing is lost of the calls" "$(stat_of "$data" lost)" 0
	is "$name: calls that were due" "$(stat_of "$data" due)" "$(stat_of "$data" taken)"
}

# ---- the shape of a program ----------------------------------------------------------------

# f is called rarely, and takes nearly all the time; small is called often.
cat >shape.c <<'END'
static volatile unsigned int sink;
__attribute__((noinline)) static void small(void)
{
	sink++;
}
__attribute__((noinline)) static void burn(unsigned int n)
{
	for (volatile unsigned int i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) static void f(void)
{
	burn(700000);
}
__attribute__((noinline)) static void g(void)
{
	for (int i = 0; i < 3000000; i++)
		small();
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		f();
	g();
	return 0;
}
END
calls="main 1
main;f 1000
main;f;burn 1000
main;g 1
main;g;small 3000000"

# share_of DATA PATTERN: percent of the samples
share_of() {
	awk -v pattern="$2" '{ n = $NF; all += n } $0 ~ pattern { some += n }
		END { printf "%d", all ? 100 * some / all : -1 }' "$1.samples"
}

build shape shape.c -O1
for sampler in $samplers; do
	record_counts shape.data "-b $sampler -F 2000" ./shape
	is "shape, $sampler: status" "$(cat shape.data.status)" 0
	is "shape, $sampler: calls" \
		"$(pcce-report -q -i shape.data --format=folded | sort)" "$calls"
	samples_hold "shape, $sampler" shape.data 100
	burn=$(share_of shape.data '^main;f;burn ')
	counting=$(share_of shape.data ';\[counting\]')
	check "shape, $sampler: $burn% of the time is in burn" [ "$burn" -ge 60 ]
	check "shape, $sampler: the counting has a share of its own, $counting%" \
		[ "$counting" -ge 0 -a "$counting" -lt 40 ]
	is "shape, $sampler: most of it is in small" "$(awk '
		/;\[counting\]/ { n = $NF; all += n; if (/small;/) some += n }
		END { print (2 * some >= all) }' shape.data.samples)" 1
	# Columns: shares, calls, self ms, total ms, ns for each call.
	pcce-report -q -i shape.data --format=flat >flat
	pcce-report -q -i shape.data --stdio --no-inline >tree
	for report in flat tree; do
		is "shape, $sampler, $report: f, burn and small" "$(awk '
			{ for (i = 7; i <= NF; i++) if ($i ~ /^(f|burn|small)$/) break }
			i <= NF && $3 ~ /^[0-9]+$/ {
				each = $6; total = $5
				fits = each > total * 900000 / $3 && each < total * 1100000 / $3
				print $i, $3, (fits || total < 5)
				time[$i] = each
			}
			END { print (time["small"] < time["burn"] / 1000) }' $report | sort -u)" "1
burn 1000 1
f 1000 1
small 3000000 1"
	done
	check "shape, $sampler: the tree tells of the counting's own time" \
		grep -q '^[0-9]* samples of cpu-clock' tree
done
pcce-report -i shape.data --format=folded >/dev/null 2>note
is "the user is told of the other event" "$(cat note)" \
	"pcce-report: showing calls; use --event=cpu-clock to see the samples"
is "events are selected by name" "$(pcce-report -q -i shape.data --stats --event=cpu-clock |
	sed -n 's/^taken: //p')" "$(samples_of shape.data taken)"

# Without options of samples, there are none.
record_counts plain.data "" ./shape
is "calls alone: one event" "$(pcce-report -q -i plain.data --format=json | grep -c '"event":"calls"') \
$(pcce-report -q -i plain.data --stats --event=1 | sed -n 's/^samples: //p')" "1 0"

# ---- all kinds of control flow -------------------------------------------------------------

for workload in exceptions fork indirect mutual recursion tailcalls threads; do
	source=$(echo "$workloads/$workload".c*)
	if ! build "$workload" "$source" -O2; then
		not_ok "$workload: builds" build.log
		continue
	fi
	allow_marked=$(words "$source" marked)
	for sampler in $samplers; do
		record_counts w.data "-b $sampler -F 2000" "./$workload"
		is "$workload, $sampler: status" "$(cat w.data.status)" 0
		samples_hold "$workload, $sampler" w.data 50
	done
	[ -z "$(words "$source" no-verify)" ] || continue
	record_counts v.data "--verify -F 2000" "./$workload"
	check "$workload: $(samples_of v.data verified) samples are verified" \
		[ "$(samples_of v.data verified)" -gt 0 ]
	is "$workload: mismatches" "$(samples_of v.data mismatches)" 0
done

# Handlers interrupt the counting at any instruction, and samples come there, too.  The alarms'
# period is 200 us.  With the same period, all samples can come at one instruction of the handler.
build interrupted "$here/interrupted.c" -O1
build jumping "$here/jumping.c" -O1
build many "$here/many.c" -O1 -pthread
for sampler in $samplers; do
	record_counts i.data "-b $sampler -F 3989" ./interrupted
	allow_marked=5 samples_hold "signals, $sampler" i.data 50
	record_counts j.data "-b $sampler -F 3989" ./jumping
	allow_marked=5 samples_hold "jumps from handlers, $sampler" j.data 50
	record_counts m.data "-b $sampler -F 5000" ./many
	samples_hold "40 threads, $sampler" m.data 50
	is "40 threads, $sampler: calls" "$(stat_of m.data taken)" "$((2 * 40 * 52500 + 41))"
done

# Programs that are executed are sampled, but not counted.
cat >executing.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned int sink;
__attribute__((noinline)) static void small(void)
{
	sink++;
}
__attribute__((noinline)) static void g(void)
{
	for (int i = 0; i < 5000000; i++)
		small();
}
int main(void)
{
	int child = fork();

	g();
	if (child)
		wait(NULL);
	execl("./recursion", "./recursion", (char *)NULL);
	return 1;
}
END
check "exec: builds" build executing executing.c -O1
for sampler in $samplers; do
	record_counts exec.data "-b $sampler -F 2000" ./executing
	is "exec, $sampler: calls" "$(pcce-report -q -i exec.data --format=folded | sort)" "main 1
main;g 2
main;g;small 10000000"
	is "exec, $sampler: undecodable samples" "$(samples_of exec.data undecodable)" 0
	check "exec, $sampler: samples of the other program" bash -c "pcce-report -q -i exec.data \
		--event=1 --format=folded | grep -q '^main;.*walk.*burn'"
	is "exec, $sampler: they are not of the counting" "$(pcce-report -q -i exec.data --event=1 \
		--format=folded | grep -c 'walk.*\[counting\]')" 0
done

# ---- bursts, other tools, options ------------------------------------------------------------

record_counts burst.data "--burst=1ms/4ms -b self -F 2000" ./shape
is "bursts: the events" "$(pcce-report -q -i burst.data --format=json --event=0,1 |
	sed -n 's/^"event":"\([^"]*\)".*/\1/p')" "calls in bursts,cpu-clock"
check "bursts: there are samples" [ "$(samples_of burst.data exact)" -ge 100 ]

# ns_of DATA FUNCTION: the time for each call
ns_of() {
	pcce-report -q -i "$1" --format=flat --sort=name |
		awk -v f="$2" '$7 == f { printf "%d", $6 }'
}
# What a call costs is the same as without bursts.  The longer a burst is, the more calls it has,
# and the more samples.
fits() { [ "$burst" -gt $((all / 3)) ] && [ "$burst" -lt $((all * 3)) ]; }
for _ in 1 2 3 4 5; do
	record_counts all.data "-b self -F 5000" ./shape
	record_counts burst.data "--burst=2ms/6ms -b self -F 5000" ./shape
	all=$(ns_of all.data burn) burst=$(ns_of burst.data burn)
	! fits || break # else the machine stood still, once
done
pcce-report -q -i burst.data --stdio >tree
check "bursts: a call of burn takes $burst ns, and $all without bursts" fits
check "bursts: samples between bursts are told apart" grep -q '%) between bursts' tree
pcce-merge -q -o merged.data burst.data
is "bursts: samples of counting and between bursts, merged" \
	"$(pcce-report -q -i merged.data --stdio | grep 'between bursts')" "$(grep 'between bursts' tree)"

record_counts a.data "-b self -F 2000" ./shape
record_counts b.data "-b self -F 2000" ./shape
check "pcce-merge: no message" bash -c "! pcce-merge -q -o ab.data a.data b.data 2>&1 | grep ."
is "pcce-merge: calls" "$(pcce-report -q -i ab.data --format=folded | sort)" \
	"$(awk '{ print $1, 2 * $2 }' <<<"$calls")"
for name in taken due lost undecodable; do
	is "pcce-merge: samples, $name" "$(samples_of ab.data $name)" \
		"$(($(samples_of a.data $name) + $(samples_of b.data $name)))"
done
pcce-diff a.data b.data >diff.log 2>&1
is "pcce-diff compares calls" "$? $(grep -c "samples of calls: " diff.log) $(head -n 1 diff.log)" \
	"0 2 pcce-diff: comparing calls; use --event=cpu-clock to compare the samples"
pcce-diff --event=cpu-clock a.data b.data >diff.log 2>&1
is "pcce-diff compares the samples beside them" \
	"$? $(grep -c "samples of cpu-clock: " diff.log) $(grep -c "^pcce-diff: " diff.log)" "0 2 0"
is "pcce-diff --event=calls: no function changes" \
	"$(pcce-diff --event=calls a.data b.data 2>&1 | grep -c "%.*%")" 0
check "pcce-compare compares calls" pcce-compare a.data b.data

# ---- recordings that cannot go on --------------------------------------------------------------

# The disk would be full of samples before the counts come.
cat >busy.c <<'END'
static volatile unsigned long n;
__attribute__((noinline)) static void work(void)
{
	for (int i = 0; i < 100000; i++)
		n++;
}
int main(void)
{
	for (int i = 0; i < 30000; i++)
		work();
	return 0;
}
END
check "a full disk: builds" build busy busy.c -O1
full_disk_keeps_calls() { # NAME DATA
	is "$1: status" "$(cat full.status)" 0
	is "$1: all calls are there" "$(pcce-report -q -i "$2" --format=folded)" "main 1
main;work 30000"
	check "$1: $(samples_of "$2" taken) samples are there" \
		[ "$(samples_of "$2" taken)" -gt 1000 ]
	check "$1: $(samples_of "$2" lost_disk) are lost for this reason" \
		[ "$(samples_of "$2" lost_disk)" -gt 0 ]
	is "$1: all that were due are accounted for" "$(samples_of "$2" due)" \
		"$(($(samples_of "$2" taken) + $(samples_of "$2" lost) +
		$(samples_of "$2" merged) + $(samples_of "$2" kernel)))"
	check "$1: the recorder says so" grep -q 'were lost: the disk is nearly full' full.err
}
for sampler in $samplers; do
	rm -f full.data
	(ulimit -f 4400 && pcce-record --count -b $sampler -F 10000 -o full.data -- ./busy 2>full.err
	echo $? >full.status)
	full_disk_keeps_calls "$sampler: a limit of file size" full.data
done
mkdir small
if unshare -m mount -t tmpfs none small 2>unshare.log; then
	unshare -m bash -c 'mount -t tmpfs -o size=4400k none small
		pcce-record --count -b self -F 10000 -o small/full.data -- ./busy 2>full.err
		echo $? >full.status
		du -k small/full.data >full.size
		cp small/full.data full.data'
	full_disk_keeps_calls "a full disk" full.data
	check "a full disk: what was kept is given back" \
		[ "$(cut -f 1 full.size)" -le $(($(stat -c %s full.data) / 1024 + 8)) ]
else
	skip "a full disk" "needs root and unshare: $(tail -n 1 unshare.log)"
fi

pcce-record -q --count -b self -F 1000 -o killed.data -- ./busy 2>killed.err &
wait_for_samples killed.data 1 --event=1
kill -9 $!
wait $! 2>/dev/null
check "a killed recorder: the samples are there" [ "$(samples_of killed.data taken)" -gt 0 ]
check "a killed recorder: the report says that calls are missing" bash -c \
	"pcce-report -i killed.data --format=folded 2>&1 | grep -q \
	'killed.data contains no calls: pcce-record writes them when it ends, and was ended before'"

is "options that do not fit are refused" "$(for options in "--hot -F 99" "--engine=lossy -b self" \
	"-p $$" --only=main "--engine=empty --burst -F 99" "-b none"; do
	# shellcheck disable=SC2086
	[[ $options == *-p* ]] && command= || command=./shape
	# shellcheck disable=SC2086
	pcce-record --count $options -o none.data $command 2>&1 | head -n 1
done)" "pcce-record: cannot take samples beside the hot contexts of --count: a summary has one event; \
leave out --hot and --engine, or -F, -c, -e, -b and --signal
pcce-record: cannot take samples beside the hot contexts of --count: a summary has one event; \
leave out --hot and --engine, or -F, -c, -e, -b and --signal
pcce-record: cannot use --count with -p: a program is counted from its first instruction on; name a command
pcce-record: cannot use --count with --only: leave out one of them
pcce-record: cannot use --burst with --engine=empty: leave out one of them
pcce-record: cannot use sampler none: it does not exist; use auto, kmod, bpf or self"

done_testing

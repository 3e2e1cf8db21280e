#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures the time of a sample inside the BPF program, by the kernel's statistics
# (kernel.bpf_stats_enabled), and that of a BPF program that does nothing.  The call depths are 10,
# 1,000 and 50,000: in recursion that the encoding compresses, and in recursion that it cannot
# compress.  The last line is the largest ratio of the former.  Needs root.
#
#   bench/bpf-cost.sh      HZ=10000  SECONDS_EACH=3  ROUNDS=3

. "$(dirname "$0")/lib.sh"
: "${HZ:=10000}" "${SECONDS_EACH:=3}" "${ROUNDS:=3}"
[ "$(id -u)" = 0 ] || { echo "bpf-cost: cannot use BPF: not root; run with sudo" >&2; exit 1; }
has_bpf || { echo "bpf-cost: cannot record with BPF: $bpf_reason" >&2; exit 1; }
PATH=$PATH:/usr/sbin:/sbin

compile_tool attach_empty -lbpf
clang -target bpf -O2 -g -idirafter "/usr/include/$($CC -print-multiarch)" \
	-c "$top/bench/empty.bpf.c" -o "$out/bench/empty.bpf.o" || exit 1
# shellcheck disable=SC2046
$CC -O2 -g $(pcce-config --cflags) "$top/bench/depth.c" $(pcce-config --ldflags) \
	-o "$out/bench/depth" || exit 1

before=$(sysctl -n kernel.bpf_stats_enabled)
trap 'sysctl -q kernel.bpf_stats_enabled="$before"; rm -rf "$scratch"' EXIT
sysctl -q kernel.bpf_stats_enabled=1
ulimit -s unlimited

# cost COMMAND...: prints ns per run of the perf_event program that ran most often during COMMAND.
cost() {
	"$@" >"$scratch/log" 2>&1 &
	local pid=$!
	sleep $((SECONDS_EACH - 1))
	bpftool prog show -j >"$scratch/progs" 2>"$scratch/err" || cat "$scratch/err" >&2
	wait $pid || { cat "$scratch/log" >&2; return 1; }
	local run='"run_time_ns":\([0-9]*\),"run_cnt":\([0-9]*\)'
	tr '{' '\n' <"$scratch/progs" | sed -n "s/.*\"type\":\"perf_event\".*$run.*/\\1 \\2/p" |
		sort -k 2 -n | tail -n 1 | awk '$2 > 100 { printf "%.1f\n", $1 / $2 }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

measure() { # DEPTH WAY
	local depth=$1 way=$2 a b i ms=$((SECONDS_EACH * 1000))
	for ((i = 0; i < ROUNDS; i++)); do
		cost "$out/bench/attach_empty" "$out/bench/empty.bpf.o" "$HZ" -- \
			"$out/bench/depth" $depth $ms $way >>"$scratch/empty.$way.$depth"
		cost pcce-record -q -b bpf -F "$HZ" -o "$scratch/data" -- \
			"$out/bench/depth" $depth $ms $way >>"$scratch/pcce.$way.$depth"
	done
	a=$(median <"$scratch/empty.$way.$depth") b=$(median <"$scratch/pcce.$way.$depth")
	[ -n "$a" ] && [ -n "$b" ] || {
		echo "bpf-cost: cannot measure depth $depth: the kernel gave no statistics" >&2
		exit 1
	}
	awk -v d=$depth -v a="$a" -v b="$b" \
		'BEGIN { printf "%8d %10.0f %10.0f %7.2f\n", d, a, b, b / a }' |
		tee -a "$scratch/$way"
}

for way in same mixed; do
	sites="three sites, nothing to compress"
	[ $way != same ] || sites="one site"
	printf "recursion from %s\n%8s %10s %10s %7s\n" "$sites" depth "empty ns" "pcce ns" ratio
	for depth in 10 1000 50000; do measure $depth $way; done
done
awk '$4 > m { m = $4 } END { printf "largest ratio, one site: %.2f\n", m }' "$scratch/same"

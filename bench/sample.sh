#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What one sample costs the program that is sampled, how large it is, and whether it has the whole context, against call depth
# and rate: our samplers, an empty BPF program (the floor), bpf_get_stack, perf with frame pointers and with copies of the stack (dwarf).
# The recursion is one that the encoding cannot compress (stall.c).  Needs root.
#
#   bench/sample.sh      DEPTHS="10 100 1000 10000 100000"  RATES="1000 10000 50000 100000"  SAMPLERS="..."  ROUNDS=3
#     SELF_MAX=50000    `self` is not run at higher rates: a signal can take longer than the time to the next one, and then
#                       the program gets nowhere and is hard to end
#
# Table to the terminal and to build/bench/sample/sample.csv, plots beside it.  "Stall" is the median time for which the
# program stands still, measured by itself; complete is the share of samples whose context reaches main (ours: that are exact, of those that are not before main).

. "$(dirname "$0")/lib.sh"
: "${DEPTHS:=10 100 1000 10000 100000}" "${RATES:=1000 10000 50000 100000}" "${ROUNDS:=3}" "${SELF_MAX:=50000}"
[ "$(id -u)" = 0 ] || { echo "sample: needs root; run it with sudo" >&2; exit 1; }
if [ -z "${SAMPLERS-}" ]; then
	SAMPLERS="none empty bpf self"
	[ ! -e /dev/pcce ] || SAMPLERS="$SAMPLERS kmod"
	SAMPLERS="$SAMPLERS get_stack perf-fp perf-dwarf"
fi
results=$out/bench/sample
mkdir -p "$results"
csv=$results/sample.csv

compile_tool attach_empty -lbpf
for o in empty stack; do
	clang -target bpf -O2 -g -idirafter "/usr/include/$($CC -print-multiarch)" -c "$top/bench/$o.bpf.c" -o "$out/bench/$o.bpf.o" || exit 1
done
# shellcheck disable=SC2046 # several flags
$CC -O2 -g "$top/bench/stall.c" -o "$out/bench/stall" &&
	$CC -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls "$top/bench/stall.c" -o "$out/bench/stall-fp" &&
	$CC -O2 -g $(pcce-config --cflags) "$top/bench/stall.c" $(pcce-config --ldflags) -o "$out/bench/stall-pcce" || exit 1

# The kernel lowers the highest rate when samples take long; not while we measure.
kernel=/proc/sys/kernel
old_percent=$(cat $kernel/perf_cpu_time_max_percent) old_rate=$(cat $kernel/perf_event_max_sample_rate)
# shellcheck disable=SC2317 # called by the trap
restore() {
	echo 25 >$kernel/perf_cpu_time_max_percent
	echo "$old_rate" >$kernel/perf_event_max_sample_rate
	echo "$old_percent" >$kernel/perf_cpu_time_max_percent
	rm -rf "$scratch"
}
trap restore EXIT
# In this order: at 100 percent the rate cannot be set.
[ "$old_percent" != 100 ] && [ "$old_percent" != 0 ] || echo 25 >$kernel/perf_cpu_time_max_percent
echo 200000 >$kernel/perf_event_max_sample_rate && echo 100 >$kernel/perf_cpu_time_max_percent || exit 1
ulimit -s unlimited

# Share of samples whose stack has main, of 200 after the beginning, which is not as deep.
reaches_main() {
	perf script -i "$1" -F ip,sym --time 60%-90% 2>/dev/null |
		awk 'BEGIN { RS = ""; FS = "\n" } { n++; for (i = 1; i <= NF; i++) if ($i ~ / main$/) { ok++; break } } n == 200 { exit } END { if (n) printf "%.1f", 100 * ok / n }'
}

size_of() { stat -c %s "$1"; }

# run SAMPLER RATE DEPTH MS: prints samples, median stall, 90th percentile, % of time, bytes per sample, % complete, lost.
run() {
	local sampler=$1 rate=$2 depth=$3 ms=$4 data=$scratch/data samples="" bytes="" complete="" lost="" counts gaps
	rm -f "$data"*
	: >"$scratch/err"
	case $sampler in
	none) "$out/bench/stall" "$depth" "$ms" >"$scratch/out" ;;
	empty) "$out/bench/attach_empty" "$out/bench/empty.bpf.o" "$rate" -- "$out/bench/stall" "$depth" "$ms" >"$scratch/out" ;;
	get_stack)
		"$out/bench/attach_empty" "$out/bench/stack.bpf.o" "$rate" -- "$out/bench/stall-fp" "$depth" "$ms" >"$scratch/out" 2>"$scratch/counts" || return 1
		read -r samples counts bytes lost <"$scratch/counts"
		complete=$(awk -v a="$counts" -v b="$samples" 'BEGIN { if (b) printf "%.1f", 100 * a / b }')
		bytes=$((samples ? bytes / samples : 0))
		;;
	perf-*)
		local program=$out/bench/stall
		[ "$sampler" = perf-dwarf ] || program=$out/bench/stall-fp
		perf record -q -F "$rate" --call-graph "${sampler#perf-}" -o "$data" -- "$program" "$depth" "$ms" >"$scratch/out" 2>"$scratch/err" || return 1
		perf report --stats -i "$data" >"$scratch/stats" 2>/dev/null
		samples=$(awk '$1 == "SAMPLE" && $2 == "events:" { print $3; exit }' "$scratch/stats")
		lost=$(awk '$1 ~ /^LOST/ { s += $3 } END { print s + 0 }' "$scratch/stats")
		bytes=$((${samples:-0} ? $(size_of "$data") / samples : 0))
		complete=$(reaches_main "$data")
		;;
	*)
		local fixed
		pcce-record -q -b "$sampler" -F 1 -o "$data" -- "$out/bench/stall-pcce" "$depth" 1 >"$scratch/out" 2>"$scratch/err" || return 1
		fixed=$(size_of "$data")
		pcce-record -q -b "$sampler" -F "$rate" -o "$data" -- "$out/bench/stall-pcce" "$depth" "$ms" >"$scratch/out" 2>"$scratch/err" || return 1
		samples=$(stat_of "$data" samples) lost=$(stat_of "$data" lost)
		complete=$(awk -v a="$(stat_of "$data" exact)" -v b="$((samples - $(stat_of "$data" outside)))" 'BEGIN { if (b) printf "%.1f", 100 * a / b }')
		bytes=$((${samples:-0} ? ($(size_of "$data") - fixed) / samples : 0))
		;;
	esac || return 1
	read -r gaps median p90 share <"$scratch/out"
	echo "${samples:-$gaps},$median,$p90,$share,$bytes,$complete,$lost"
}

echo "sampler,depth,rate,round,samples,stall_median_ns,stall_90_ns,time_percent,bytes_per_sample,complete_percent,lost" >"$csv"
failed=0
for ((round = 1; round <= ROUNDS; round++)); do
	for depth in $DEPTHS; do
		for rate in $RATES; do
			ms=$((20000000 / rate))
			[ $ms -le 1000 ] || ms=1000
			for sampler in $SAMPLERS; do
				[ "$sampler" != self ] || [ "$rate" -le "$SELF_MAX" ] || continue
				if row=$(run "$sampler" "$rate" "$depth" $ms); then
					echo "$sampler,$depth,$rate,$round,$row" >>"$csv"
				else
					echo "sample: $sampler failed at depth $depth and $rate Hz (a program that gets nowhere is ended by its alarm after a minute)" >&2
					cat "$scratch/err" >&2
					failed=1
				fi
			done
		done
	done
done

# The median over rounds of one field.
awk -F , -v OFS=, '
	function median(list,    v, n, i, j, t) {
		n = split(list, v, " ")
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return n ? v[int((n + 1) / 2)] : ""
	}
	NR > 1 { k = $1 OFS $2 OFS $3; if (!(k in seen)) { seen[k] = 1; key[++m] = k } for (f = 5; f <= 11; f++) if ($f != "") list[k, f] = list[k, f] " " $f }
	END { for (i = 1; i <= m; i++) { printf "%s", key[i]; for (f = 5; f <= 11; f++) printf ",%s", median(list[key[i], f]); print "" } }' "$csv" >"$results/medians.csv"

table() { # TITLE FIELD
	printf '\n%s\n' "$1"
	awk -F , -v f="$2" '
		{ if (!($1 in s)) { s[$1] = 1; sampler[++n] = $1 } k = $2 "@" $3; if (!(k in c)) { c[k] = 1; column[++m] = k; depth[m] = $2; rate[m] = $3 } v[$1, k] = $f }
		END {
			for (from = 1; from <= m; from = to) {
				for (to = from; to <= m && depth[to] == depth[from]; to++) ;
				printf "%-12s", "depth " depth[from]
				for (j = from; j < to; j++) printf " %9s", rate[j] / 1000 " kHz"
				print ""
				for (i = 1; i <= n; i++) { printf "  %-10s", sampler[i]; for (j = from; j < to; j++) printf " %9s", v[sampler[i], column[j]] == "" ? "-" : v[sampler[i], column[j]]; print "" }
			}
		}' "$results/medians.csv"
}
table "stall per sample, ns (median)" 5
table "bytes per sample" 8
table "complete contexts, %" 9
table "samples lost" 10
describe_machine | tee "$results/machine.txt"

top_rate=10000
for field in "5 stall_ns" "8 bytes" "9 complete_percent"; do
	read -r f word <<<"$field"
	sep=
	{
		echo "set terminal svg size 800,500 dynamic background 'white'; set output '$results/$word.svg'; set logscale x; set grid; set key outside"
		[ "$word" = complete_percent ] && echo "set yrange [-5:105]" || echo "set logscale y"
		printf 'set title "at %s Hz"; set xlabel "call depth"; set ylabel "%s"; plot ' "$top_rate" "${word//_/ }"
		for s in $SAMPLERS; do
			awk -F , -v s="$s" -v r=$top_rate -v f="$f" '$1 == s && $3 == r && $f != "" { print $2, $f }' "$results/medians.csv" >"$scratch/plot.$word.$s"
			[ -s "$scratch/plot.$word.$s" ] || continue
			printf '%s"%s" using 1:2 with linespoints title "%s"' "$sep" "$scratch/plot.$word.$s" "$s"
			sep=', '
		done
		echo
	} >"$scratch/plot"
	gnuplot "$scratch/plot" || { echo "sample: gnuplot could not draw $results/$word.svg" >&2; failed=1; }
done
exit $failed

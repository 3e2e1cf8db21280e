#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures one sample by call depth and rate: its cost for the sampled program, its size, and
# whether it has the whole context.  The samplers are ours, an empty BPF program (the lower bound),
# bpf_get_stack, and perf with frame pointers and with copies of the stack (dwarf).  The encoding
# cannot compress the recursion of the sampled program (stall.c).  Needs root.
#
#   bench/sample.sh
#     DEPTHS="10 100 1000 10000 100000"   call depths
#     RATES="1000 10000 50000 100000"     rates in Hz
#     SAMPLERS="..."                      only these samplers
#     ROUNDS=3                            the tables have medians of the rounds
#     SELF_MAX=50000                      `self` does not run at higher rates: if a signal takes
#                                         longer than the time to the next one, the program makes
#                                         no progress and is hard to stop
#
# Tables go to the terminal and to build/bench/sample/sample.csv, plots to the same directory.
# "Stall" is the median time for which the program stands still, which it measures itself.
# "Complete" is the share of samples whose context reaches main.  For our samplers it is the share
# of exact samples, without those before main.

. "$(dirname "$0")/lib.sh"
: "${DEPTHS:=10 100 1000 10000 100000}" "${RATES:=1000 10000 50000 100000}"
: "${ROUNDS:=3}" "${SELF_MAX:=50000}"
[ "$(id -u)" = 0 ] || { echo "sample: cannot use BPF: not root; run with sudo" >&2; exit 1; }
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
	clang -target bpf -O2 -g -idirafter "/usr/include/$($CC -print-multiarch)" \
		-c "$top/bench/$o.bpf.c" -o "$out/bench/$o.bpf.o" || exit 1
done
# shellcheck disable=SC2046 # several flags
$CC -O2 -g "$top/bench/stall.c" -o "$out/bench/stall" &&
	$CC -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls "$top/bench/stall.c" \
		-o "$out/bench/stall-fp" &&
	$CC -O2 -g $(pcce-config --cflags) "$top/bench/stall.c" $(pcce-config --ldflags) \
		-o "$out/bench/stall-pcce" || exit 1

# The kernel lowers the highest rate when samples take long.  It must not do so while we measure.
kernel=/proc/sys/kernel
old_percent=$(cat $kernel/perf_cpu_time_max_percent)
old_rate=$(cat $kernel/perf_event_max_sample_rate)
# shellcheck disable=SC2317 # called by the trap
restore() {
	echo 25 >$kernel/perf_cpu_time_max_percent
	echo "$old_rate" >$kernel/perf_event_max_sample_rate
	echo "$old_percent" >$kernel/perf_cpu_time_max_percent
	rm -rf "$scratch"
}
trap restore EXIT
# The order matters: at 100 percent the kernel does not allow to set the rate.
[ "$old_percent" != 100 ] && [ "$old_percent" != 0 ] || echo 25 >$kernel/perf_cpu_time_max_percent
echo 200000 >$kernel/perf_event_max_sample_rate &&
	echo 100 >$kernel/perf_cpu_time_max_percent || exit 1
ulimit -s unlimited

# reaches_main DATA: prints the share of samples whose stack has main.  Looks at 200 samples, not at
# those of the beginning, whose stacks are not as deep.
reaches_main() {
	perf script -i "$1" -F ip,sym --time 60%-90% 2>/dev/null |
		awk '
			BEGIN { RS = ""; FS = "\n" }
			{ n++; for (i = 1; i <= NF; i++) if ($i ~ / main$/) { ok++; break } }
			n == 200 { exit }
			END { if (n) printf "%.1f", 100 * ok / n }'
}

size_of() { stat -c %s "$1"; }

# percent PART ALL: prints nothing if ALL is 0.
percent() { awk -v a="$1" -v b="$2" 'BEGIN { if (b) printf "%.1f", 100 * a / b }'; }

# run_sampler SAMPLER RATE DEPTH MS: prints samples, median stall, 90th percentile, % of time, bytes
# per sample, % complete, lost.
run_sampler() {
	local sampler=$1 rate=$2 depth=$3 ms=$4 data=$scratch/data output=$scratch/out
	local samples="" bytes="" complete="" lost="" counts gaps
	rm -f "$data"*
	: >"$scratch/err"
	case $sampler in
	none) "$out/bench/stall" "$depth" "$ms" >"$output" ;;
	empty)
		"$out/bench/attach_empty" "$out/bench/empty.bpf.o" "$rate" -- \
			"$out/bench/stall" "$depth" "$ms" >"$output"
		;;
	get_stack)
		"$out/bench/attach_empty" "$out/bench/stack.bpf.o" "$rate" -- \
			"$out/bench/stall-fp" "$depth" "$ms" >"$output" 2>"$scratch/counts" ||
			return 1
		read -r samples counts bytes lost <"$scratch/counts"
		complete=$(percent "$counts" "$samples")
		bytes=$((samples ? bytes / samples : 0))
		;;
	perf-*)
		local program=$out/bench/stall
		[ "$sampler" = perf-dwarf ] || program=$out/bench/stall-fp
		perf record -q -F "$rate" --call-graph "${sampler#perf-}" -o "$data" -- \
			"$program" "$depth" "$ms" >"$output" 2>"$scratch/err" || return 1
		perf report --stats -i "$data" >"$scratch/stats" 2>/dev/null
		samples=$(awk '$1 == "SAMPLE" && $2 == "events:" { print $3; exit }' \
			"$scratch/stats")
		lost=$(awk '$1 ~ /^LOST/ { s += $3 } END { print s + 0 }' "$scratch/stats")
		bytes=$((${samples:-0} ? $(size_of "$data") / samples : 0))
		complete=$(reaches_main "$data")
		;;
	*)
		local fixed
		pcce-record -q -b "$sampler" -F 1 -o "$data" -- \
			"$out/bench/stall-pcce" "$depth" 1 >"$output" 2>"$scratch/err" || return 1
		fixed=$(size_of "$data")
		pcce-record -q -b "$sampler" -F "$rate" -o "$data" -- \
			"$out/bench/stall-pcce" "$depth" "$ms" >"$output" 2>"$scratch/err" ||
			return 1
		samples=$(stat_of "$data" samples) lost=$(stat_of "$data" lost)
		complete=$(percent "$(stat_of "$data" exact)" \
			"$((samples - $(stat_of "$data" outside)))")
		bytes=$((${samples:-0} ? ($(size_of "$data") - fixed) / samples : 0))
		;;
	esac || return 1
	read -r gaps median p90 share <"$output"
	echo "${samples:-$gaps},$median,$p90,$share,$bytes,$complete,$lost"
}

{
	printf '%s,' sampler depth rate round samples stall_median_ns stall_90_ns time_percent
	echo "bytes_per_sample,complete_percent,lost"
} >"$csv"
failed=0
for ((round = 1; round <= ROUNDS; round++)); do
	for depth in $DEPTHS; do
		for rate in $RATES; do
			ms=$((20000000 / rate))
			[ $ms -le 1000 ] || ms=1000
			for sampler in $SAMPLERS; do
				[ "$sampler" != self ] || [ "$rate" -le "$SELF_MAX" ] || continue
				if row=$(run_sampler "$sampler" "$rate" "$depth" $ms); then
					echo "$sampler,$depth,$rate,$round,$row" >>"$csv"
				else
					echo "sample: cannot measure $sampler at depth $depth," \
						"$rate Hz: it failed or took over a minute" >&2
					cat "$scratch/err" >&2
					failed=1
				fi
			done
		done
	done
done

# medians.csv has the median of each field over the rounds.
awk -F , -v OFS=, '
	function median(list,    v, n, i, j, t) {
		n = split(list, v, " ")
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) {
				t = v[j]
				v[j] = v[j - 1]
				v[j - 1] = t
			}
		return n ? v[int((n + 1) / 2)] : ""
	}
	NR > 1 {
		k = $1 OFS $2 OFS $3
		if (!(k in seen)) { seen[k] = 1; key[++m] = k }
		for (f = 5; f <= 11; f++) if ($f != "") list[k, f] = list[k, f] " " $f
	}
	END {
		for (i = 1; i <= m; i++) {
			printf "%s", key[i]
			for (f = 5; f <= 11; f++) printf ",%s", median(list[key[i], f])
			print ""
		}
	}' "$csv" >"$results/medians.csv"

table() { # TITLE FIELD
	printf '\n%s\n' "$1"
	awk -F , -v f="$2" '
		{
			if (!($1 in s)) { s[$1] = 1; sampler[++n] = $1 }
			k = $2 "@" $3
			if (!(k in c)) { c[k] = 1; column[++m] = k; depth[m] = $2; rate[m] = $3 }
			v[$1, k] = $f == "" ? "-" : $f
		}
		function value(i, j) {
			return (sampler[i], column[j]) in v ? v[sampler[i], column[j]] : "-"
		}
		END {
			for (from = 1; from <= m; from = to) {
				for (to = from; to <= m && depth[to] == depth[from]; to++) ;
				printf "%-12s", "depth " depth[from]
				for (j = from; j < to; j++) printf " %9s", rate[j] / 1000 " kHz"
				print ""
				for (i = 1; i <= n; i++) {
					printf "  %-10s", sampler[i]
					for (j = from; j < to; j++) printf " %9s", value(i, j)
					print ""
				}
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
		echo "set terminal svg size 800,500 dynamic background 'white'"
		echo "set output '$results/$word.svg'; set logscale x; set grid; set key outside"
		scale="set logscale y"
		[ "$word" != complete_percent ] || scale="set yrange [-5:105]"
		echo "$scale"
		printf 'set title "at %s Hz"; set xlabel "call depth"; ' "$top_rate"
		printf 'set ylabel "%s"; plot ' "${word//_/ }"
		for s in $SAMPLERS; do
			points=$scratch/plot.$word.$s
			awk -F , -v s="$s" -v r=$top_rate -v f="$f" \
				'$1 == s && $3 == r && $f != "" { print $2, $f }' \
				"$results/medians.csv" >"$points"
			[ -s "$points" ] || continue
			printf '%s"%s" using 1:2 with linespoints title "%s"' "$sep" "$points" "$s"
			sep=', '
		done
		echo
	} >"$scratch/plot"
	gnuplot "$scratch/plot" || {
		echo "sample: cannot draw $results/$word.svg: gnuplot failed" >&2
		failed=1
	}
done
exit $failed

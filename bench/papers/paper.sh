#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Makes the paper's tables and its figure by exhaustive counting.  Each call of instrumented code is
# counted in the calling context tree (count.c).  The tree gives what the encoding would have done,
# and what the paper's hybrid encoding could save (hybrid.c).
#
#   bench/papers/paper.sh [PROGRAM...]    OPT="-O0": how programs are compiled; -O2 is another table
#
# Tables go to the terminal, to build/bench/paper-OPT.csv and to build/bench/hybrid-OPT.csv.  Depths
# go to build/bench/depths/, and the figure to build/bench/depths-OPT.svg.

. "$(dirname "$0")/../programs.sh"
programs=("$@")
[ ${#programs[@]} != 0 ] || mapfile -t programs < <(all_programs)
: "${OPT:=-O0}"
word=${OPT//[^A-Za-z0-9]/}
results=$out/bench
csv=$results/paper-$word.csv
rows=$results/paper-$word
hybrid_csv=$results/hybrid-$word.csv
hybrid_rows=$results/hybrid-$word
depths=$results/depths/$word
mkdir -p "$depths" "$rows" "$hybrid_rows" "$results/count"

# Tail calls are ordinary calls here, as they are in source code.  -w: warnings about these old
# sources do not matter.
flags_c="$OPT -g -fno-optimize-sibling-calls -fcommon -w $(pcce-config --cflags)"
failed=0

count_program() { # PROGRAM
	local p=$1 tree counted best size most=0
	PCCE_ENCODE=off BENCH_LD_ADD=$out/bench/count.o \
		build "$p" "count-$word" "$flags_c" "$(pcce-config --ldflags)" || return 1
	counted=$elf.counted
	(cd "$scratch" && sh -c "$command") >"$scratch/$p.want" 2>/dev/null
	"$out/bench/count_patch" "$elf" "$counted" || return 1
	rm -f "$results/count/$p".*
	(cd "$scratch" && PCCE_COUNT_FILE=$results/count/$p sh -c "${command//"$elf"/"$counted"}") \
		>"$scratch/$p.out" 2>"$scratch/$p.err" || {
		echo "paper: cannot count $p: the counted program failed:" >&2
		tail -n 5 "$scratch/$p.err" >&2
		return 1
	}
	cmp "$scratch/$p.want" "$scratch/$p.out" || {
		echo "paper: cannot count $p: the counted program has another output" >&2
		return 1
	}
	# A program that runs itself leaves several trees; the largest one counts.
	for tree in "$results/count/$p".*; do
		size=$(du -k "$tree" 2>/dev/null | cut -f 1)
		[ "${size:-0}" -le $most ] || most=$size best=$tree
	done
	[ $most != 0 ] || {
		echo "paper: cannot count $p: the counted program left no tree" >&2
		return 1
	}
	"$out/bench/contexts" "$p" "$elf" "$directory" "$best" "$depths/$p.csv" >"$scratch/row" &&
		mv "$scratch/row" "$rows/$p" || return 1
	readelf -wF "$elf" >"$scratch/frames" 2>/dev/null
	"$out/bench/implicit" "$p" "$elf" "$scratch/frames" "$best" >"$scratch/row" &&
		mv "$scratch/row" "$hybrid_rows/$p" || return 1
	rm -f "$results/count/$p".*
}

for p in "${programs[@]}"; do
	rm -f "$rows/$p" "$hybrid_rows/$p"
	count_program "$p" || failed=1
done
# The table has all programs that were counted with these flags, in this run or before.
{ "$out/bench/contexts" && cat "$rows"/*; } >"$csv" || exit 1
{ "$out/bench/implicit" && cat "$hybrid_rows"/*; } >"$hybrid_csv" || exit 1

echo "programs compiled with $OPT"
echo "ids of the paper's numbering and of Ball and Larus' are those without any cut"
awk -F , -v header=1 '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	function v(name) { return $column[name] }
	function big(x) { return length(x) > 12 ? sprintf("%.2e", x) : x }
	NR == 2 {
		print "\nTable 1: the call graph"
		printf "%-10s %8s %7s %7s %6s %6s %12s %12s %12s %5s\n", "program", "lines",
			"nodes", "edges", "recur.", "point.", "max id ours", "id paper", "id B-L",
			"cut"
	}
	{
		printf "%-10s %8s %7s %7s %6s %6s %12s %12s %12s %5s\n", v("program"), v("lines"),
			v("nodes"), v("edges"), v("recursive"), v("indirect"), big(v("id_ours")),
			big(v("id_paper")), big(v("id_ball_larus")), v("cut_ours")
	}' "$csv"
awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	function v(name) { return $column[name] }
	NR == 2 {
		print "\nTable 2: depth of encoding stack and of calls"
		printf "%-10s %14s %9s | %8s %6s | %6s %5s | %6s %5s | %7s %6s\n", "program",
			"instances", "contexts", "calls", "90%", "paper", "90%", "ours", "90%",
			"plain", "90%"
	}
	{
		printf "%-10s %14s %9s | %8s %6s | %6s %5s | %6s %5s | %7s %6s\n", v("program"),
			v("instances"), v("contexts"), v("calls_max"), v("calls_90"),
			v("paper_max"), v("paper_90"), v("ours_max"), v("ours_90"),
			v("ours_plain_max"), v("ours_plain_90")
	}' "$csv"
awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	function v(name) { return $column[name] }
	function share(kind, who) {
		return 100 * v(who "_" kind) / (v(who "_nothing") + v(who "_add") + v(who "_push"))
	}
	NR == 2 {
		print "\nWhat each executed call costs, % of calls"
		print "(0: nothing, or noting the site: at calls of uninstrumented functions that"
		print "cannot call back and, in ours, of functions that call nothing)"
		printf "%-10s | %8s %8s %8s | %8s %8s %8s\n", "program", "ours: 0", "add", "push",
			"paper: 0", "add", "push"
	}
	{
		printf "%-10s | %8.1f %8.1f %8.1f | %8.1f %8.1f %8.1f\n", v("program"),
			share("nothing", "ours"), share("add", "ours"), share("push", "ours"),
			share("nothing", "paper"), share("add", "paper"), share("push", "paper")
	}' "$csv"
awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	function share(name) { return 100 * $column[name] / $column["calls"] }
	function pushes() { return share("indirect") + share("callbacks") + share("other") }
	NR == 2 {
		print "\nWhat hybrid encoding could save, % of calls"
		print "(counts: this run orders the in-edges of a function, not estimates;"
		print "store: calls that would have to store the stack pointer as well)"
		printf "%-10s %-9s | %6s %6s | %6s %6s %9s %8s | %6s %6s | %s\n", "program",
			"order", "add", "least", "add", "guard", "guard+add", "new push", "push",
			"store", "collisions"
	}
	{
		printf "%-10s %-9s | %6.1f %6.1f | %6.1f %6.1f %9.1f %8.1f | %6.1f %6.1f | %d\n",
			$1, $2, share("added"), share("added_at_least"), share("conflicts"),
			share("passed"), share("guarded"), share("moving"), pushes(),
			pushes() + share("noted_outside"), $column["collisions"]
	}' "$hybrid_csv"
awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	$column["lost"] { print "\n" $1 ": " $column["lost"] " events were not counted" }' "$csv"

# A colour for each program.
colours=(1f77b4 ff7f0e 2ca02c d62728 9467bd 8c564b e377c2 7f7f7f bcbd22 17becf 000000 00008b 006400
	b8860b ff00ff 00bfff 7fff00 a52a2a 708090 ffa07a)

# Prints the plot commands for the share of instances whose depth is at most x.
plot() { # COLUMN TITLE
	local f p k=0 sep=
	printf 'set title "%s"; set key outside; set xlabel "depth"; ' "$2"
	printf 'set ylabel "%% of function instances"; set yrange [0:100]; set logscale x 10; plot '
	for f in "$depths"/*.csv; do
		p=$(basename "$f" .csv)
		awk -F , -v c="$1" '
			NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) k = i; next }
			{ d[NR] = $1; n[NR] = $k; all += $k }
			END {
				for (i = 2; i <= NR; i++) {
					sum += n[i]
					print d[i] + 1, 100 * sum / all
				}
			}' "$f" >"$scratch/$1.$p"
		printf '%s"%s" using 1:2 with steps lw 1.5 lc rgb "#%s" title "%s"' "$sep" \
			"$scratch/$1.$p" "${colours[k++ % ${#colours[@]}]}" "$p"
		sep=', '
	done
	echo
}
{
	echo "set terminal svg size 1000,900 dynamic background 'white'"
	echo "set output '$results/depths-$word.svg'; set multiplot layout 3,1"
	plot calls "call depth + 1"
	plot paper "depth of the encoding stack + 1, the paper's numbering"
	plot ours "depth of the encoding stack + 1, our numbering"
} >"$scratch/plot"
gnuplot "$scratch/plot" || {
	echo "paper: cannot draw $results/depths-$word.svg: gnuplot failed" >&2
	failed=1
}
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures how encoding grows with the program.  For real programs from small to large: time and
# memory of pcce-encode, largest id, pushes, file size.  For synthetic call graphs of up to a
# million functions and ten million calls: the numbering alone.
#
#   bench/scale.sh [PROGRAM...]     PROGRAM "none": only the synthetic graphs
#     LARGE="gdb"                   large programs (bench/programs/large), whose builds take long;
#                                   LARGE= leaves them out
#     GRAPHS="1000x10000 ..."       functions x calls
#
# The limit for the largest graph is 60 s and 4 GiB.  Tables go to the terminal and to
# build/bench/scale/.

. "$(dirname "$0")/programs.sh"
: "${LARGE=gdb}" "${GRAPHS:=1000x10000 10000x100000 100000x1000000 1000000x10000000}"
programs=("$@")
# shellcheck disable=SC2206 # a list
[ ${#programs[@]} != 0 ] || { mapfile -t programs < <(all_programs); programs+=($LARGE); }
[ "${programs[*]}" != none ] || programs=()
compile_tool own
results=$out/bench/scale
mkdir -p "$results"
csv=$results/programs.csv
failed=0

value() { sed -n "s/^$1: *//p" "$scratch/dump"; }

# encode_cost FILE: prints seconds and MiB of pcce-encode.  Takes the least time of three runs,
# because other work on the machine can only add to it.
encode_cost() {
	local i
	rm -f "$scratch"/cost.*
	for i in 1 2 3; do
		"$out/bench/own" "$scratch/cost.time" \
			/usr/bin/time -f %M -a -o "$scratch/cost.memory" \
			"$out/bin/pcce-encode" -o "$scratch/encoded" "$1" || return 1
	done
	printf '%.3f,%.0f' "$(sort -n "$scratch/cost.time" | head -n 1)" \
		"$(sort -n "$scratch/cost.memory" | awk 'END { print $1 / 1024 }')"
}

# measure_program PROGRAM: appends the program's row to $scratch/rows.
measure_program() {
	local p=$1 cost text row v
	PCCE_ENCODE=off build "$p" scale "-O2 -g -fcommon -w $(pcce-config --cflags)" \
		"$(pcce-config --ldflags)" || return 1
	pcce-encode --dump "$elf" >"$scratch/dump" && cost=$(encode_cost "$elf") || return 1
	text=$(size -A "$elf" | awk '/^\.text/ { s += $2 } END { print s }')
	row="$p,$text,$(stat -c %s "$elf"),$(stat -c %s "$scratch/encoded")"
	for v in functions sites edges 'back edges' 'indirect sites' pushes 'edges cut' \
		'largest id'; do
		row="$row,$(value "$v")"
	done
	echo "$row,$cost" >>"$scratch/rows"
}

: >"$scratch/rows"
for p in "${programs[@]}"; do
	measure_program "$p" || { echo "scale: cannot encode $p; see above" >&2; failed=1; }
done
if [ -s "$scratch/rows" ]; then
	{
		printf '%s,' program text file encoded functions sites edges back indirect pushes
		echo "cut,largest_id,seconds,mib"
		sort -t , -k 6 -n "$scratch/rows"
	} >"$csv"
	awk -F , '
		NR == 1 {
			printf "%-10s %9s %8s %8s %7s %7s %6s %20s %8s %7s %6s\n", "program",
				"text", "funcs", "sites", "back", "pushes", "cut", "largest id",
				"growth", "s", "MiB"
			next
		}
		{
			printf "%-10s %9d %8d %8d %7d %7d %6d %20s %7.1f%% %7.3f %6d\n", $1, $2,
				$5, $6, $8, $10, $11, $12, 100 * ($4 / $3 - 1), $13, $14
		}' "$csv"
	echo
fi

graphs=$results/graphs.csv
echo "functions,sites,seconds,mib,largest_id,back,cut,pushes" >"$graphs"
for g in $GRAPHS; do
	"$out/bench/graph" "${g%x*}" "${g#*x}" >>"$graphs" || {
		echo "scale: cannot number the graph $g; see above" >&2
		failed=1
	}
done
awk -F , '{
	printf "%10s %10s %8s %6s %20s %9s %9s %9s\n", $1, $2, $3, $4, $5, $6, $7, $8
}' "$graphs"
describe_machine | tee "$results/machine.txt"

{
	echo "set terminal svg size 800,500 dynamic background 'white'"
	echo "set output '$results/scale.svg'; set logscale xy; set grid"
	echo "set datafile separator ','; set key left top"
	echo "set xlabel 'call sites'; set ylabel 'seconds, MiB'"
	printf 'plot "%s" skip 1 using 2:3 with linespoints title "%s", ' "$graphs" \
		"numbering of a synthetic graph, s"
	printf '"" skip 1 using 2:4 with linespoints title "MiB"'
	if [ -s "$csv" ]; then
		printf ', "%s" skip 1 using 6:13 with points pt 7 title "%s"' "$csv" \
			"encoding of a program, s"
		printf ', "" skip 1 using 6:14 with points pt 6 title "MiB"'
	fi
	echo
} >"$scratch/plot"
gnuplot "$scratch/plot" || {
	echo "scale: cannot draw $results/scale.svg: gnuplot failed" >&2
	failed=1
}
exit $failed

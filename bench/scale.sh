#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# How encoding grows with the program: time and memory of pcce-encode, largest id, pushes, size of the file, for real programs
# from small to large; and of the numbering alone for synthetic call graphs of up to a million functions and ten million calls.
#
#   bench/scale.sh [PROGRAM...]     PROGRAM "none": only the synthetic graphs
#     LARGE="gdb"                   large programs (bench/programs/large), whose builds take long; LARGE= leaves them out
#     GRAPHS="1000x10000 ..."       functions x calls
#
# To reach: the largest graph in 60 s and 4 GiB.  Tables to the terminal and to build/bench/scale/.

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

# Three times; the least, since other work can only add.
encode_cost() { # FILE: seconds and MiB
	local i
	rm -f "$scratch"/cost.*
	for i in 1 2 3; do
		"$out/bench/own" "$scratch/cost.time" /usr/bin/time -f %M -a -o "$scratch/cost.memory" "$out/bin/pcce-encode" -o "$scratch/encoded" "$1" || return 1
	done
	printf '%.3f,%.0f' "$(sort -n "$scratch/cost.time" | head -n 1)" "$(sort -n "$scratch/cost.memory" | awk 'END { print $1 / 1024 }')"
}

one() { # PROGRAM
	local p=$1 cost text
	PCCE_ENCODE=off build "$p" scale "-O2 -g -fcommon -w $(pcce-config --cflags)" "$(pcce-config --ldflags)" || return 1
	pcce-encode --dump "$elf" >"$scratch/dump" && cost=$(encode_cost "$elf") || return 1
	text=$(size -A "$elf" | awk '/^\.text/ { s += $2 } END { print s }')
	echo "$p,$text,$(stat -c %s "$elf"),$(stat -c %s "$scratch/encoded"),$(value functions),$(value sites),$(value edges),$(value 'back edges'),$(value 'indirect sites'),$(value pushes),$(value 'edges cut'),$(value 'largest id'),$cost" >>"$scratch/rows"
}

: >"$scratch/rows"
for p in "${programs[@]}"; do
	one "$p" || { echo "scale: $p was not encoded" >&2; failed=1; }
done
if [ -s "$scratch/rows" ]; then
	{
		echo "program,text,file,encoded,functions,sites,edges,back,indirect,pushes,cut,largest_id,seconds,mib"
		sort -t , -k 6 -n "$scratch/rows"
	} >"$csv"
	awk -F , '
		NR == 1 { printf "%-10s %9s %8s %8s %7s %7s %6s %20s %8s %7s %6s\n", "program", "text", "funcs", "sites", "back", "pushes", "cut", "largest id", "growth", "s", "MiB"; next }
		{ printf "%-10s %9d %8d %8d %7d %7d %6d %20s %7.1f%% %7.3f %6d\n", $1, $2, $5, $6, $8, $10, $11, $12, 100 * ($4 / $3 - 1), $13, $14 }' "$csv"
	echo
fi

graphs=$results/graphs.csv
echo "functions,sites,seconds,mib,largest_id,back,cut,pushes" >"$graphs"
for g in $GRAPHS; do
	"$out/bench/graph" "${g%x*}" "${g#*x}" >>"$graphs" || { echo "scale: the graph $g was not numbered" >&2; failed=1; }
done
awk -F , '{ printf "%10s %10s %8s %6s %20s %9s %9s %9s\n", $1, $2, $3, $4, $5, $6, $7, $8 }' "$graphs"
describe_machine | tee "$results/machine.txt"

{
	echo "set terminal svg size 800,500 dynamic background 'white'; set output '$results/scale.svg'; set logscale xy; set grid; set datafile separator ','; set key left top"
	echo "set xlabel 'call sites'; set ylabel 'seconds, MiB'"
	printf 'plot "%s" skip 1 using 2:3 with linespoints title "numbering of a synthetic graph, s", "" skip 1 using 2:4 with linespoints title "MiB"' "$graphs"
	[ ! -s "$csv" ] || printf ', "%s" skip 1 using 6:13 with points pt 7 title "encoding of a program, s", "" skip 1 using 6:14 with points pt 6 title "MiB"' "$csv"
	echo
} >"$scratch/plot"
gnuplot "$scratch/plot" || { echo "scale: gnuplot could not draw $results/scale.svg" >&2; failed=1; }
exit $failed

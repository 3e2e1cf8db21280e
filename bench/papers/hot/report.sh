#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# hot/report.sh TITLE TREES.csv TIMES.csv DIRECTORY: prints the tables of hot.sh, and draws its
# figures in DIRECTORY.  TREES.csv has lines program;run;name;value, TIMES.csv program;column;value.

. "$(dirname "$0")/../../lib.sh"
title=$1 csv=$2 times=$3 results=$4

# ---- tables --------------------------------------------------------------------------

# table TITLE SPEC...: a line for each program.  A SPEC is HEAD=RUN:NAME, or HEAD=RUN:NAME%RUN:NAME,
# a quotient in percent.
table() {
	local title=$1
	shift
	[ -z "$title" ] || printf '\n%s\n' "$title"
	awk -F ';' -v specs="$*" '
		function cell(spec, half, below) {
			sub(/^[^=]*=/, "", spec)
			if (split(spec, half, "%") == 1)
				return v[p, half[1]]
			below = v[p, half[2]]
			return below + 0 ? sprintf("%.2f", 100 * v[p, half[1]] / below) : ""
		}
		{ v[$1, $2 ":" $3] = $4 }
		!($1 in seen) { seen[$1] = 1; order[++programs] = $1 }
		END {
			n = split(specs, spec, " ")
			printf "%-12s", "program"
			for (i = 1; i <= n; i++) {
				head = spec[i]
				sub(/=.*/, "", head)
				printf " %12s", head
			}
			print ""
			for (k = 1; k <= programs; k++) {
				p = order[k]
				printf "%-12s", p
				for (i = 1; i <= n; i++)
					printf " %12s", cell(spec[i])
				print ""
			}
		}' "$csv"
}

of() { echo "$1=$2:$3%$2:$4"; }            # HEAD RUN NAME NAME
of_all() { echo "$1=$2:$3%exact:$4"; }     # HEAD RUN NAME NAME

echo "$title"
table "Table I: sizes" functions=exact:functions sites=exact:sites contexts=exact:contexts \
	calls=exact:calls
table "Figure 1: % of the calls in the hottest contexts, by % of contexts" 1=exact:skew_1 \
	5=exact:skew_5 10=exact:skew_10 20=exact:skew_20 50=exact:skew_50
table "Table II: nodes of hot contexts and their callers, by phi" 1e-3=exact:hcct_0.001 \
	1e-4=exact:hcct_0.0001 1e-5=exact:hcct_1e-05 1e-7=exact:hcct_1e-07 all=exact:contexts
specs=
for phi in 1e-2 1e-3 1e-4 1e-5; do specs+=" $(of_all $phi $phi/5 kept nodes)"; done
# shellcheck disable=SC2086 # words
table "Figure 4: monitored nodes, % of all, by phi" $specs
table "Figure 5: memory of counting, % of that for all contexts (phi 1e-4; bursts 0.2 ms / 2 ms)" \
	all_KiB=exact:memory "$(of_all bursts burst-cct memory memory)" \
	"$(of_all hcct 1e-4/5 memory memory)" "$(of_all both burst-short memory memory)" \
	"$(of_all lossy lossy memory memory)"
table "Figure 7: % of the calls in hot contexts and callers (a), least tau (b), by phi" \
	1e-3=exact:overlap_0.001 1e-4=exact:overlap_0.0001 1e-5=exact:overlap_1e-05 \
	tau_1e-3=exact:tau_0.001 tau_1e-4=exact:tau_0.0001 tau_1e-5=exact:tau_1e-05
table "Figure 8: hotness of contexts that are missing, % of the hottest, by phi" \
	max_1e-3=1e-3/5:max_uncovered mean_1e-3=1e-3/5:mean_uncovered \
	max_1e-4=1e-4/5:max_uncovered mean_1e-4=1e-4/5:mean_uncovered
table "Figure 9: nodes of the tree (phi 1e-4)" cold=1e-4/5:cold hot=1e-4/5:hot \
	false_pos=1e-4/5:false_positives false_neg=1e-4/5:false_negatives \
	"$(of cold,% 1e-4/5 cold nodes)" "$(of false,% 1e-4/5 false_positives nodes)"
specs=
for r in 2 5 10 20 50; do specs+=" $(of $r 1e-4/$r false_positives nodes)"; done
# shellcheck disable=SC2086
table "Figure 10: false positives, % of the nodes, by phi / epsilon" $specs
table "Figure 11: errors of counts of hot contexts, %" max=1e-4/5:max_error \
	mean=1e-4/5:mean_error lossy_max=lossy:max_error lossy_mean=lossy:mean_error
table "Figure 12: bursts of 2 ms / 20 ms: errors, %, and hot edge coverage, by tau_phi / tau" \
	max=burst:max_error mean=burst:mean_error false_neg=burst:false_negatives 1=burst:cover_1 \
	0.8=burst:cover_0.8 0.5=burst:cover_0.5 0.2=burst:cover_0.2

order="plain encoded empty cct hcct burst gprof hooks libhcct-empty libhcct-cct libhcct-lss"
order="$order libhcct-lss_burst"

# Prints the CPU times of all columns that were measured.
print_times() {
	awk -F ';' -v order="$order" '
		{ t[$1, $2] = $3; known[$2] = 1 }
		!($1 in seen) { seen[$1] = 1; program[++programs] = $1 }
		END {
			all = split(order, word, " ")
			for (i = 2; i <= all; i++)
				if (word[i] in known)
					c[++n] = word[i]
			printf "%-12s %8s", "program", "plain"
			for (i = 1; i <= n; i++) {
				head = c[i]
				sub(/libhcct/, "lib", head)
				printf " %9.9s", head
			}
			print ""
			for (k = 1; k <= programs; k++) {
				p = program[k]
				printf "%-12s %7.3fs", p, t[p, "plain"]
				for (i = 1; i <= n; i++) {
					if (!t[p, c[i]]) { printf " %9s", "-"; continue }
					x = t[p, c[i]] / t[p, "plain"]
					sum[i] += log(x)
					terms[i]++
					printf " %9.2f", x
				}
				print ""
			}
			printf "%-12s %8s", "mean", ""
			for (i = 1; i <= n; i++)
				printf " %9.2f", terms[i] ? exp(sum[i] / terms[i]) : 0
			print ""
		}' "$times"
}
if [ -s "$times" ]; then
	printf '\nFigure 6: CPU time over that of the plain program (medians; means: geometric)\n'
	print_times
fi

# ---- figures -------------------------------------------------------------------------

# lines FIGURE TITLE XLABEL YLABEL SETTINGS X=RUN:NAME[%RUN:NAME]...: a line for each program
lines() {
	local figure=$1 settings=$5 p sep=
	printf 'set output "%s/%s.svg"; set title "%s"; set xlabel "%s"; set ylabel "%s"\n' \
		"$results" "$figure" "$2" "$3" "$4"
	shift 5
	printf 'set key outside; unset logscale; set yrange [*:*]; %s\n' "$settings"
	printf 'set style data linespoints; plot '
	table "" "$@" >"$scratch/$figure.table"
	while read -r p; do
		awk -v p="$p" '
			NR == 1 { n = NF; for (i = 2; i <= NF; i++) x[i] = $i }
			$1 == p { for (i = 2; i <= n; i++) if ($i != "") print x[i], $i }' \
			"$scratch/$figure.table" >"$scratch/$figure.$p"
		[ -s "$scratch/$figure.$p" ] || continue
		printf '%s"%s" title "%s"' "$sep" "$scratch/$figure.$p" "$p"
		sep=', '
	done < <(awk 'NR > 1 { print $1 }' "$scratch/$figure.table")
	echo
}

# bars FIGURE TITLE YLABEL SETTINGS HEAD=...: bars for each program; a column for each HEAD
bars() {
	local figure=$1 title=$2 label=$3 settings=$4
	shift 4
	table "" "$@" >"$scratch/$figure.table"
	draw_bars "$figure" "$title" "$label" "$settings"
}

draw_bars() { # FIGURE TITLE YLABEL SETTINGS
	printf 'set output "%s/%s.svg"; set title "%s"; set xlabel ""; set ylabel "%s"\n' \
		"$results" "$1" "$2" "$3"
	printf 'set key outside; unset logscale; set style data histograms; set yrange [0:*]\n'
	printf 'set style fill solid 0.8; set xtics rotate by -45; %s\n' "$4"
	printf 'plot for [i=2:%d] "%s" using i:xtic(1) title columnheader(i)\n' \
		"$(awk 'NR == 1 { print NF }' "$scratch/$1.table")" "$scratch/$1.table"
	printf 'set style histogram clustered; set xtics norotate\n'
}

of_each() { # RUN NAME-PREFIX SUFFIX...
	local run=$1 name=$2 x
	shift 2
	for x; do printf '%s=%s:%s%s ' "$x" "$run" "$name" "$x"; done
}

# shellcheck disable=SC2046 # words
{
	echo "set terminal svg size 1000,500 dynamic background 'white' noenhanced"
	echo "set format x '%g'; set format y '%g'"
	lines figure1 "Skewness of calling contexts" "% of the contexts, the hottest ones" \
		"% of the calls" "" $(of_each exact skew_ 1 2 5 10 20 30 50 75)
	lines figure4 "Space of hcct" "phi" "monitored nodes, % of all" "set logscale xy" \
		$(for phi in 1e-2 1e-3 1e-4 1e-5; do of_all $phi $phi/5 kept nodes; done)
	bars figure5 "Memory of counting at phi 1e-4" "% of that for all contexts" \
		"set logscale y; set yrange [0.01:*]" "$(of_all bursts burst-cct memory memory)" \
		"$(of_all hcct 1e-4/5 memory memory)" "$(of_all both burst-short memory memory)"
	lines figure7a "Degree of overlap of the exact tree of hot contexts" phi "% of the calls" \
		"set logscale x" 1e-2=exact:overlap_0.01 1e-3=exact:overlap_0.001 \
		1e-4=exact:overlap_0.0001 1e-5=exact:overlap_1e-05 1e-6=exact:overlap_1e-06
	lines figure7b "Hot edge coverage of the exact tree of hot contexts" "phi" \
		"least tau with 100%" "set logscale xy" 1e-2=exact:tau_0.01 1e-3=exact:tau_0.001 \
		1e-4=exact:tau_0.0001 1e-5=exact:tau_1e-05 1e-6=exact:tau_1e-06
	bars figure8 "Hotness of contexts that are missing at phi 1e-4" "% of the hottest" \
		"set logscale y; set yrange [1e-5:100]" max=1e-4/5:max_uncovered \
		mean=1e-4/5:mean_uncovered
	bars figure9 "Nodes of the tree of hot contexts at phi 1e-4" "% of the nodes" \
		"set style histogram rowstacked" "$(of cold 1e-4/5 cold nodes)" \
		"$(of hot 1e-4/5 hot nodes)" "$(of false 1e-4/5 false_positives nodes)"
	lines figure10 "False positives at phi 1e-4" "phi / epsilon" "% of the nodes" "" \
		$(for r in 2 5 10 20 50; do of $r 1e-4/$r false_positives nodes; done)
	bars figure11 "Errors of counts of hot contexts at phi 1e-4" "%" \
		"set logscale y; set yrange [1e-4:*]" \
		max=1e-4/5:max_error mean=1e-4/5:mean_error
	bars figure12a "Errors with bursts of 2 ms / 20 ms at phi 1e-4" "%" "" \
		mean=burst:mean_error
	lines figure12b "Hot edge coverage with bursts" "tau_phi / tau" "%" "set yrange [0:100]" \
		$(of_each burst cover_ 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1)
	if [ -s "$times" ]; then
		print_times | sed '/^mean/d; s/ *[0-9][0-9.]*s / /; s/ plain / /' \
			>"$scratch/figure6.table"
		draw_bars figure6 "CPU time over that of the plain program" "" ""
	fi
} >"$scratch/plot"
gnuplot "$scratch/plot" || {
	echo "hot: cannot draw the figures in $results: gnuplot failed" >&2
	exit 1
}

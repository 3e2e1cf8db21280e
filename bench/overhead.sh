#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what instrumentation, sampling and other profilers cost in real programs.  Prints the CPU
# time of each program in each column, over that of the program without the plugin on the same work.
# The last line is the geometric mean of "encoded".  Method: bench/README.md.
#
#   bench/overhead.sh [--build] [PROGRAM...]      --build: only builds the columns' variants
#     BLOCKS=12 PEER_BLOCKS=4 SLOW_BLOCKS=1   blocks of: instrumentation alone; samplers; callgrind
#     LAYOUTS=4                               random orders of the program's functions
#     COLUMNS="..."                           only these columns (and the base)
#
# Columns:
#   base         without the plugin
#   again        the base a second time, which shows the noise
#   fp           frame pointers (-fno-omit-frame-pointer)
#   inlined      no plugin, but the limits for inlining that the plugin sets (plugin/inlining.c)
#   nops         with the plugin; all slots are nops
#   encoded      with the plugin, encoded
#   no-additions encoded, but no call adds to the id: a bound for the paper's hybrid encoding, since
#                contexts are wrong
#   hybrid       with the plugin and hybrid encoding (pcce-encode --hybrid)
#   profiled     with the plugin, encoded with a recording of one run of the same work at 999 Hz
#                (pcce-encode --profile)
#   bpf-999 bpf-10000 self-999 self-10000 kmod-999 kmod-10000
#                encoded, and recorded by this sampler at this rate (kmod if /dev/pcce exists)
#   perf-fp-R    perf record at rate R with frame pointers, in a build that has them
#   perf-dwarf-R perf record at rate R with 8 KB of stack
#   gperftools   its CPU profiler at 999 Hz
#   gprof        -pg
#   hooks        -finstrument-functions, with hooks that return at once
#   uftrace      -pg and uftrace record --nop: tracing without writing, a lower bound
#   callgrind    valgrind --tool=callgrind
#
# CPU time is that of the program alone: user and system, with the kernel's work for the program.
# `all` in the CSV adds the time of the profiler's process.
#
# Results in build/bench/overhead:
#   measured.csv   each block              overhead.svg   the means
#   overhead.csv   the ratios              programs.svg   instrumentation, program by program
#   text.csv       the sizes of .text

. "$(dirname "$0")/programs.sh"
: "${BLOCKS:=12}" "${PEER_BLOCKS:=4}" "${SLOW_BLOCKS:=1}" "${LAYOUTS:=4}"
only_build=
if [ "${1-}" = --build ]; then
	only_build=1
	shift
fi
programs=("$@")
[ ${#programs[@]} != 0 ] || mapfile -t programs < <(all_programs)
results=$out/bench/overhead
all_blocks=$results/measured.csv
failed=0
compile_tool own
compile_tool measure
compile_tool ratios -lm
$CC -O2 -c -o "$out/bench/hook.o" "$top/bench/hook.c" || exit 1
for profiler in /usr/lib/*/libprofiler.so.0; do :; done

fast="base again fp inlined nops encoded no-additions hybrid profiled"
sampled="base"
for r in 999 10000; do
	has_bpf && sampled="$sampled bpf-$r"
	sampled="$sampled self-$r"
	[ ! -e /dev/pcce ] || sampled="$sampled kmod-$r"
	sampled="$sampled perf-fp-$r perf-dwarf-$r"
done
sampled="$sampled gperftools gprof hooks uftrace"
slow="base callgrind"
if [ -n "${COLUMNS-}" ]; then
	only() {
		local c
		for c; do case " base $COLUMNS " in *" $c "*) printf '%s ' "$c" ;; esac; done
	}
	# shellcheck disable=SC2086
	fast=$(only $fast) sampled=$(only $sampled) slow=$(only $slow)
fi

common="-O2 -g -ffunction-sections -fcommon -w"
lld=-fuse-ld=lld

# variant_of COLUMN: prints the build that the column runs.
variant_of() {
	case $1 in
	fp | perf-fp-*) echo fp ;;
	inlined | nops | no-additions | hybrid | profiled) echo "$1" ;;
	encoded | bpf-* | self-* | kmod-*) echo encoded ;;
	gprof | uftrace) echo gprof ;;
	hooks) echo hooks ;;
	*) echo base ;;
	esac
}

# encode_layout N VARIANT OPTION...
encode_layout() {
	local from=$elf.layout$1 to=$elf.$2.layout$1
	shift 2
	[ "$to" -nt "$from" ] && [ $# = 0 ] && return
	pcce-encode "$@" -o "$to" "$from" && chmod +x "$to"
}

# train N: records the encoded program of layout N at its work.  The output goes to a file, because
# grep stops at the first match if the output is /dev/null.
train() {
	local program=$elf.encoded.layout$1 line
	line=${command/"\"$elf\""/"$(prefix self-999) \"$program\""}
	(cd "$scratch" && sh -c "$line") >"$scratch/train.out" 2>"$scratch/train.err" && return
	echo "overhead: cannot record $program:" >&2
	tail -n 3 "$scratch/train.err" >&2
	return 1
}

# build_layouts PROGRAM VARIANT: sets elf and command.
build_layouts() {
	local p=$1 variant=$2 n
	export BENCH_LD_LAYOUTS=$LAYOUTS
	unset BENCH_LD_ADD
	case $variant in
	base) build "$p" "bench-base" "$common" "$lld" ;;
	fp)
		build "$p" "bench-fp" \
			"$common -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer" "$lld"
		;;
	inlined) build "$p" "bench-inlined" "$common $inlining_limits" "$lld" ;;
	gprof) build "$p" "bench-gprof" "$common -pg" "$lld -pg" ;;
	hooks)
		BENCH_LD_ADD=$out/bench/hook.o \
			build "$p" "bench-hooks" "$common -finstrument-functions" "$lld"
		;;
	hybrid)
		PCCE_ENCODE=off build "$p" "bench-hybrid" \
			"$common $(pcce-config --cflags) -fplugin-arg-pcce_plugin-hybrid" \
			"$lld $(pcce-config --ldflags)"
		;;
	nops | encoded | no-additions | profiled)
		PCCE_ENCODE=off build "$p" "bench-pcce" "$common $(pcce-config --cflags)" \
			"$lld $(pcce-config --ldflags)"
		;;
	esac || return 1
	for ((n = 1; n <= LAYOUTS; n++)); do
		[ -x "$elf.layout$n" ] || {
			echo "overhead: cannot use build '$variant' of $p: layout $n is missing;" \
				"check that its build links with bench/ld" >&2
			return 1
		}
		case $variant in
		encoded) encode_layout "$n" encoded ;;
		hybrid) encode_layout "$n" hybrid --hybrid ;;
		no-additions)
			encode_layout "$n" encoded &&
				"$out/bench/without_additions" "$elf.encoded.layout$n" \
					"$elf.$variant.layout$n"
			;;
		profiled)
			encode_layout "$n" encoded && train "$n" &&
				encode_layout "$n" profiled -p "$scratch/prof.data"
			;;
		esac || return 1
	done
}

# prefix COLUMN: prints the command that runs before the program on the command line.  All profilers
# write to $scratch.
prefix() {
	local own="$out/bench/own $scratch/own" data=$scratch/prof.data rate=${1##*-}
	case $1 in
	bpf-* | self-* | kmod-*) echo "pcce-record -q -b ${1%-*} -F $rate -o $data -- $own" ;;
	perf-fp-*) echo "perf record -q -F $rate --call-graph fp -o $data -- $own" ;;
	perf-dwarf-*) echo "perf record -q -F $rate --call-graph dwarf -o $data -- $own" ;;
	gperftools)
		echo "$own /usr/bin/env LD_PRELOAD=$profiler CPUPROFILE=$data" \
			"CPUPROFILE_FREQUENCY=999"
		;;
	gprof) echo "$own /usr/bin/env GMON_OUT_PREFIX=$scratch/gmon" ;;
	uftrace) echo "$own /usr/bin/uftrace record --nop --no-pager" ;;
	callgrind)
		echo "$own /usr/bin/valgrind -q --tool=callgrind" \
			"--callgrind-out-file=$scratch/callgrind.out"
		;;
	*) echo "$own" ;;
	esac
}

# write_commands PROGRAM COLUMN...: prints the input of measure.
write_commands() {
	local p=$1 c n variant program line
	shift
	for c; do
		variant=$(variant_of "$c")
		build_layouts "$p" "$variant" || return 1
		for ((n = 1; n <= LAYOUTS; n++)); do
			program=$elf.layout$n
			case $variant in
			encoded | no-additions | hybrid | profiled)
				program=$elf.$variant.layout$n
				;;
			esac
			line=${command/"\"$elf\""/"$(prefix "$c") \"$program\""}
			printf '%s\t%s\tcd %s && { %s; }\n' "$c" "$n" "$scratch" "$line"
			[ "$n" != 1 ] || echo "$p,$c,$(text_size "$program")" >>"$results/text.csv"
		done
	done
}

# leave_out PROGRAM COLUMN...: drops columns in which the program does not do its work.  Some
# programs end at the profiler's signal or crash, which not every profiler reports.
leave_out() {
	local p=$1 c
	shift
	for c; do
		sh -c "$(awk -F '\t' -v c="$c" '$1 == c { print $3; exit }' "$scratch/commands")" \
			>"$scratch/did.$c" 2>/dev/null &&
			cmp -s "$scratch/did.base" "$scratch/did.$c" && continue
		echo "overhead: cannot measure $p in column '$c': it does not do its work there;" \
			"the column is left out" >&2
		[ "$c" != base ] || return 1
		awk -F '\t' -v c="$c" '$1 != c' "$scratch/commands" >"$scratch/commands.left" &&
			mv "$scratch/commands.left" "$scratch/commands" || return 1
	done
	rm -f "$scratch"/did.*
}

# group NUMBER BLOCKS PROGRAM COLUMN...: measures a group of columns, whose blocks are separate.
group() {
	local g=$1 blocks=$2 p=$3
	shift 3
	[ $# -gt 1 ] && [ "$blocks" -gt 0 ] || return 0
	write_commands "$p" "$@" >"$scratch/commands" || return 1
	leave_out "$p" "$@" || return 1
	"$out/bench/measure" "$blocks" "$scratch/own" <"$scratch/commands" >"$scratch/rows" ||
		return 1
	awk -F , -v OFS=, -v p="$p" -v g="$g" '{ $3 += g * 10000; print p, $0 }' "$scratch/rows" \
		>>"$all_blocks"
}

if [ -n "$only_build" ]; then
	for p in "${programs[@]}"; do
		# `profiled` needs a recording, not another build.
		# shellcheck disable=SC2086 # lists
		variants=$(for c in ${fast/profiled/encoded} $sampled; do
			variant_of "$c"
		done | sort -u)
		for v in $variants; do
			build_layouts "$p" "$v" || failed=1
		done
	done
	exit $failed
fi
rm -rf "$results"
mkdir -p "$results"
ulimit -c 0
for p in "${programs[@]}"; do
	# shellcheck disable=SC2086 # lists
	group 0 "$BLOCKS" "$p" $fast && group 1 "$PEER_BLOCKS" "$p" $sampled &&
		group 2 "$SLOW_BLOCKS" "$p" $slow || {
		echo "overhead: cannot measure $p in all columns; see the messages above" >&2
		failed=1
	}
	rm -f "$scratch"/prof.data* "$scratch"/gmon* "$scratch"/callgrind*
done
[ -s "$all_blocks" ] || exit 1
"$out/bench/ratios" base <"$all_blocks" >"$results/overhead.csv" || exit 1
describe_machine >"$results/machine.txt"

echo "CPU time of the program over that without the plugin"
echo "(with 95% intervals where they are wider than 0.01)"
awk -F , 'NR > 1 {
		if (!($1 in seen)) { seen[$1] = 1; if ($1 != "(geometric mean)") program[++n] = $1 }
		if (!($2 in column)) { column[$2] = ++m; name[m] = $2 }
		v[$1, $2] = sprintf($3 >= 10 ? "%.1f" : "%.3f", $3)
		if ($5 - $4 > 0.01)
			v[$1, $2] = v[$1, $2] \
				sprintf($3 >= 10 ? " %.0f-%.0f" : " %.2f-%.2f", $4, $5)
	}
	END {
		program[++n] = "(geometric mean)"
		for (from = 1; from <= m; from += 5) {
			printf "\n%-17s", ""
			for (c = from; c < from + 5 && c <= m; c++) printf " %17s", name[c]
			print ""
			for (p = 1; p <= n; p++) {
				printf "%-17s", program[p]
				for (c = from; c < from + 5 && c <= m; c++) {
					k = program[p] SUBSEP name[c]
					printf " %17s", k in v ? v[k] : "-"
				}
				print ""
			}
		}
	}' "$results/overhead.csv"
echo
awk -F , '
	!(($1, $2) in size) {
		size[$1, $2] = $3
		if (!($1 in seen)) { seen[$1] = 1; program[++n] = $1 }
	}
	END {
		for (p = 1; p <= n; p++) {
			b = size[program[p], "base"]
			if (!b || !size[program[p], "encoded"]) continue
			if (!k++) print "text size over that without the plugin"
			printf "%-17s %.2f\n", program[p], size[program[p], "encoded"] / b
			sum += log(size[program[p], "encoded"] / b)
		}
		if (k) printf "%-17s %.2f\n", "(geometric mean)", exp(sum / k)
	}' "$results/text.csv"
echo
cat "$results/machine.txt"

# plot NAME SETTINGS PLOT
plot() {
	{
		echo "set terminal svg size 1100,500 dynamic background 'white'"
		echo "set output '$results/$1.svg'; set datafile separator ','"
		echo "set ylabel 'CPU time over that without the plugin'"
		echo "set xtics rotate by -45 nomirror; set grid y; set offsets 0.5,0.5,0,0; $2"
		echo "plot 1 with lines linecolor 'gray' notitle, $3"
	} >"$scratch/plot"
	gnuplot "$scratch/plot" || {
		echo "overhead: cannot draw $results/$1.svg: gnuplot failed" >&2
		failed=1
	}
}
awk -F , -v OFS=, '$1 == "(geometric mean)" { print $2, $3, $4, $5 }' "$results/overhead.csv" \
	>"$scratch/means"
labels="'' using 0:2:(sprintf('%.2f', \$2)) with labels left offset 0.7,0"
plot overhead "set logscale y 2; unset key" \
	"'$scratch/means' using 0:2:3:4:xtic(1) with yerrorbars pointtype 7, $labels"
columns=
beside=0
label=':xtic(5)'
for c in $fast; do
	[ "$c" != base ] || continue
	awk -F , -v OFS=, -v c="$c" '
		NR > 1 && !($1 in place) { place[$1] = n++ }
		$2 == c { print place[$1], $3, $4, $5, $1 }' "$results/overhead.csv" \
		>"$scratch/column.$c"
	columns="$columns, '$scratch/column.$c' using (\$1 + 0.$beside):2:3:4$label"
	columns="$columns with yerrorbars pointtype 7 pointsize 0.5 title '$c'"
	beside=$((beside + 1))
	label=
done
[ -z "$columns" ] || plot programs "set key outside" "${columns#, }"
awk -F , '$1 == "(geometric mean)" && $2 == "encoded" {
	printf "geometric mean of encoded over no plugin: %.3f [%.3f, %.3f]\n", $3, $4, $5
}' "$results/overhead.csv"
exit $failed

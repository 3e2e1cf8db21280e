#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Makes the tables and figures of D'Elia, Demetrescu and Finocchi, "Mining hot calling contexts in
# small space", with pcce-record --count.
#
#   bench/papers/hot.sh [PROGRAM...]   by default those of tests/programs, bench/programs and
#                               bench/programs/hot
#
#   OPT=-O2      how the programs are compiled
#   ROUNDS=5     how often each program runs for the running times; 0: no times
#   TREES=0      no trees, only the times
#   TIMED="..."  what to time, see build_column and run_column
#   LIBHCCT=DIR  the directory `libs` of the paper's own implementation, which is then measured
#                beside ours
#
# All numbers go to build/bench/hot/*.csv: program, run, name, value.  A run is `exact`, or
# PHI/RATIO with epsilon = phi / RATIO, or one of those with bursts or Lossy Counting.
# bench/papers/hot/trees.c says what the names are.  Tables go to the terminal, and figures to
# build/bench/hot/*.svg.

. "$(dirname "$0")/../programs.sh"
all_hot_programs() {
	local f
	all_programs
	for f in "$top"/bench/programs/hot/*.sh; do
		f=${f##*/}
		[ "$f" = lib.sh ] || echo "${f%.sh}"
	done
}
programs=("$@")
[ ${#programs[@]} != 0 ] || mapfile -t programs < <(all_hot_programs)
: "${OPT:=-O2}" "${ROUNDS:=5}" "${TREES:=1}"
word=${OPT//[^A-Za-z0-9]/}
results=$out/bench/hot
rows=$results/rows-$word
times=$results/times-$word
mkdir -p "$rows" "$times"
common="$OPT -g -fcommon -w"
failed=0
export BENCH_USE=$scratch/use

mkdir -p "$out/bench"
$CC -O2 -c -o "$out/bench/own_use.o" "$top/bench/papers/hot/own_use.c" &&
	$CC -O2 -c -o "$out/bench/hook.o" "$top/bench/hook.c" || exit 1

# run PREFIX...: runs the built program's workload, the program under PREFIX.  Sets seconds and
# memory (KiB) of the program alone.
run() {
	local line=$command
	# shellcheck disable=SC2124
	local prefix="$@"
	[ -z "$prefix" ] || line=${command/"\"$elf\""/"$prefix \"$elf\""}
	rm -f "$BENCH_USE"
	(cd "$scratch" && timeout 1200 setarch -R sh -c "$line") >"$scratch/out" 2>"$scratch/err" ||
		return 1
	[ -s "$BENCH_USE" ] || return 1
	read -r seconds memory < <(awk '{ s += $1; if ($2 > m) m = $2 } END { print s, m }' \
		"$BENCH_USE")
}

# ---- trees ---------------------------------------------------------------------------

# count DATA OPTION...
count() {
	local data=$scratch/$1
	shift
	rm -f "$data"
	run pcce-record -q --count "$@" -o "$data" -- || {
		echo "hot: cannot count $p with $*:" >&2
		tail -n 3 "$scratch/err" >&2
		return 1
	}
	cmp -s "$scratch/want" "$scratch/out" || {
		echo "hot: cannot count $p with $*: its output is another one then" >&2
		return 1
	}
}

# add RUN FILE: adds "name value" lines of FILE, and the memory
add() {
	awk -v p="$p" -v r="$1" '{ print p ";" r ";" $1 ";" $2 }' "$2"
	echo "$p;$1;memory;$((memory - plain_memory))"
}

# compare RUN DATA PHI
compare() {
	"$out/bench/trees" "$scratch/exact" "$scratch/$2" "$3" >"$scratch/compared" &&
		add "$1" "$scratch/compared"
}

count_program() {
	local phi ratio
	build_column encoded && run && mv "$scratch/out" "$scratch/want" || return 1
	plain_memory=$memory
	count exact && "$out/bench/trees" "$scratch/exact" >"$scratch/described" &&
		add exact "$scratch/described" || return 1
	for phi in 1e-2 1e-3 1e-4 1e-5; do
		count some --hot=$phi && compare "$phi/5" some $phi || return 1
	done
	for ratio in 2:5e-5 10:1e-5 20:5e-6 50:2e-6; do
		count some --hot=1e-4,${ratio#*:} && compare "1e-4/${ratio%:*}" some 1e-4 ||
			return 1
	done
	count some --engine=lossy --hot=1e-4 && compare lossy some 1e-4 || return 1
	count some --burst=0.2ms/2ms && add burst-cct /dev/null || return 1
	count some --burst=0.2ms/2ms --hot=1e-4 && add burst-short /dev/null || return 1
	count some --burst=2ms/20ms --hot=1e-4 && compare burst some 1e-4
}

# ---- running times -------------------------------------------------------------------

columns=${TIMED-plain encoded empty cct hcct burst gprof hooks}
[ -z "${LIBHCCT-}" ] || columns="$columns libhcct-empty libhcct-cct libhcct-lss libhcct-lss_burst"

# build_column COLUMN: sets elf and command
build_column() {
	local libhcct="-rdynamic -L${LIBHCCT-} -lhcct_cct -lpthread"
	libhcct="$libhcct -Wl,-wrap,pthread_create -Wl,-wrap,pthread_exit"
	export BENCH_LD_ADD=$out/bench/own_use.o
	case $1 in
	plain) build "$p" hot-plain "$common" "" ;;
	encoded | empty | cct | hcct | burst)
		build "$p" "hot-$word" "$common $(pcce-config --cflags)" "$(pcce-config --ldflags)"
		;;
	gprof) build "$p" hot-gprof "$common -pg" "-pg" ;;
	hooks)
		BENCH_LD_ADD="$out/bench/own_use.o $out/bench/hook.o"
		build "$p" hot-hooks "$common -finstrument-functions" ""
		;;
	libhcct-*) build "$p" hot-libhcct "$common -finstrument-functions" "$libhcct" ;;
	esac
}

# run_column COLUMN
run_column() {
	local record="pcce-record -q -o $scratch/data --count"
	case $1 in
	empty | cct) run "$record --engine=$1 --" ;;
	hcct) run "$record --hot=1e-4 --" ;;
	burst) run "$record --hot=1e-4 --burst=2ms/20ms --" ;;
	libhcct-*)
		# All of its libraries have the same functions.
		mkdir -p "$scratch/$1"
		ln -sf "$LIBHCCT/libhcct_${1#*-}.so" "$scratch/$1/libhcct_cct.so"
		DUMPPATH=$scratch LD_LIBRARY_PATH=$scratch/$1 run
		;;
	*) GMON_OUT_PREFIX=$scratch/gmon run ;;
	esac
}

# Prints the times of each column: program;column;seconds.  A round runs all columns.
time_program() {
	local round c
	for ((round = 0; round < ROUNDS; round++)); do
		for c in $columns; do
			build_column "$c" && run_column "$c" && echo "$p;$c;$seconds" ||
				echo "hot: cannot measure $p with $c: it failed" >&2
			rm -f "$scratch"/*.tree "$scratch"/*.map "$scratch"/gmon*
		done
	done
}

for p in "${programs[@]}"; do
	if [ "$TREES" = 0 ]; then
		:
	elif count_program >"$scratch/rows"; then
		mv "$scratch/rows" "$rows/$p"
	else
		echo "hot: cannot count $p; see above" >&2
		failed=1
	fi
	[ "$ROUNDS" = 0 ] || time_program >"$times/$p"
done
unset BENCH_LD_ADD

# ---- results -------------------------------------------------------------------------

# They have all programs that were measured, in this run or before.
awk -F ';' '{ key = $1 ";" $2; n[key]++; t[key, n[key]] = $3 }
	END {
		for (key in n) {
			for (i = 2; i <= n[key]; i++)
				for (j = i; j > 1 && t[key, j] + 0 < t[key, j - 1] + 0; j--) {
					x = t[key, j]; t[key, j] = t[key, j - 1]; t[key, j - 1] = x
				}
			m = int((n[key] + 1) / 2)
			print key ";" (n[key] % 2 ? t[key, m] : (t[key, m] + t[key, m + 1]) / 2)
		}
	}' "$times"/* 2>/dev/null | sort >"$results/times-$word.csv"

if [ "$TREES" = 0 ]; then
	cat "$results/times-$word.csv"
	describe_machine
	exit $failed
fi
cat "$rows"/* >"$results/trees-$word.csv" || exit 1
"$top/bench/papers/hot/report.sh" "programs compiled with $OPT" "$results/trees-$word.csv" \
	"$results/times-$word.csv" "$results" || failed=1
describe_machine
exit $failed

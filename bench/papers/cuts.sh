#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Counts how many executed calls are pushes because ids have no room, by what says which calls are
# cold: the compiler's estimates, a recording with samples, one with counts, or -fprofile-use.  The
# profiles are of another input than the counted run, and of that run itself as a bound.
#
#   bench/papers/cuts.sh [PROGRAM...]       of lua, sqlite, tcc and vim
#   OPT=-O2                          how the programs are compiled
#   COMPILER="other same"            which profiles of the compiler are made; each is two builds
#   FREQUENCY=5000                   of samples
#
# The call graph, the guards and the cuts are those of pcce-encode (bench/papers/cuts.c).  Each call
# is counted in the calling context tree, as in paper.sh.  The counts of the counted run itself are
# read from this tree: a recording of all contexts of vim takes minutes to write.
#
# Tables go to the terminal and to build/bench/cuts-OPT.csv.

. "$(dirname "$0")/../programs.sh"
programs=("$@")
[ ${#programs[@]} != 0 ] || programs=(lua sqlite tcc vim)
: "${OPT:=-O2}" "${COMPILER=other same}" "${FREQUENCY:=5000}"
word=${OPT//[^A-Za-z0-9]/}
results=$out/bench
rows=$results/cuts-$word
mkdir -p "$rows"
common="$OPT -g -fno-optimize-sibling-calls -fcommon -w"
failed=0

# Prints the other input: a shell command that runs "$prog", which is in the directory $source.
# shellcheck disable=SC2016 # the command expands them
other_command() { # PROGRAM
	case $1 in
	lua) echo "\"\$prog\" \"$top/bench/papers/cuts/lua.lua\"" ;;
	sqlite) echo "\"\$prog\" -batch :memory: <\"$top/bench/papers/cuts/sqlite.sql\"" ;;
	vim)
		echo "\"\$prog\" -u NONE -i NONE -n -N -es -S \"$top/bench/papers/cuts/vim.vim\"" \
			"\"$out/programs/inputs/text\""
		;;
	tcc)
		echo 'set -- "$source/tcc.c"' \
			'; set -- "$@" "$@" "$@" "$@"; set -- "$@" "$@" "$@" "$@";' \
			'$wrap "$prog" -B"$source" -I"$source/include" -I"$source"' \
			'-DONE_SOURCE=1 -c "$@"'
		;;
	*)
		echo "cuts: cannot profile $1: bench/papers/cuts has no other input for it" >&2
		return 1
		;;
	esac
}

# run KIND PROGRAM OUTPUT [WRAPPER...]: runs the counted workload (main) or the other one.
run() {
	local kind=$1 prog=$2 output=$3 text=$main
	shift 3
	[ "$kind" = main ] || text=$other
	(cd "$scratch" && prog=$prog source=$directory wrap=$* sh -c "$text") \
		</dev/null >"$output" 2>"$output.err" || {
		echo "cuts: cannot run $prog:" >&2
		tail -n 5 "$output.err" >&2
		return 1
	}
}

# count KIND PROGRAM: leaves the tree of a counted run, and sets tree.
count() {
	local size most=0 f
	tree=""
	rm -f "$scratch/tree".*
	PCCE_COUNT_FILE=$scratch/tree run "$1" "$2" "$scratch/counted" || return 1
	for f in "$scratch/tree".*; do
		size=$(du -k "$f" 2>/dev/null | cut -f 1)
		[ "${size:-0}" -le $most ] || most=$size tree=$f
	done
	[ -n "$tree" ]
}

# build_counted PROGRAM VARIANT FLAGS: sets elf, directory, main and other.
build_counted() {
	PCCE_ENCODE=off BENCH_LD_ADD=$out/bench/count.o build "$1" "$2" \
		"$common $(pcce-config --cflags)${3:+ $3}" "$(pcce-config --ldflags)" || return 1
	main=${command/"\"$elf\""/\$wrap \"\$prog\"}
	other=$(other_command "$1") || return 1
	[[ $other = *'$wrap'* ]] || other=${other/'"$prog"'/'$wrap "$prog"'}
	"$out/bench/count_patch" "$elf" "$elf.counted"
}

of_recordings() { # PROGRAM
	local p=$1 d=$scratch kind
	build_counted "$p" "count-$word" "" && pcce-encode -o "$elf.encoded" "$elf" || return 1
	for kind in other main; do
		run $kind "$elf.encoded" "$d/out" pcce-record -q -F "$FREQUENCY" \
			-o "$d/$kind.samples" -- || return 1
	done
	run other "$elf.encoded" "$d/out" pcce-record -q --count -o "$d/other.counts" -- &&
		count main "$elf.counted" &&
		"$out/bench/cuts" "$p" "$elf" "$tree" estimates "samples-other=$d/other.samples" \
			"counts-other=$d/other.counts" "samples-same=$d/main.samples" \
			"counts-same=tree:$tree"
}

of_compiler() { # PROGRAM other|same
	local p=$1 kind=$2
	local data=$results/gcda/$p
	[ "$kind" = other ] || kind=main
	rm -rf "$data"
	mkdir -p "$data"
	# The same directory for both builds: the names of the profiles contain it.
	build "$p" "pgo-$word" "$common -fprofile-generate=$data" -fprofile-generate || return 1
	main=${command/"\"$elf\""/\$wrap \"\$prog\"}
	other=$(other_command "$p") && run $kind "$elf" "$scratch/out" || return 1
	build_counted "$p" "pgo-$word" "-fprofile-use=$data -Wno-missing-profile" &&
		count main "$elf.counted" &&
		"$out/bench/cuts" "$p" "$elf" "$tree" "compiler-$2"
}

for p in "${programs[@]}"; do
	rm -f "$rows/$p"
	of_recordings "$p" >"$scratch/row" || { failed=1; continue; }
	for kind in $COMPILER; do
		of_compiler "$p" "$kind" >>"$scratch/row" || failed=1
	done
	mv "$scratch/row" "$rows/$p"
done
{ "$out/bench/cuts" && cat "$rows"/*; } >"$results/cuts-$word.csv" || exit 1

echo "programs compiled with $OPT; % of executed calls"
echo "limit: of ids, in bits; own: pcce-encode's choice.  cut: pushes since ids have no room"
awk -F , '
	NR == 1 {
		for (i = 1; i <= NF; i++) column[$i] = i
		printf "%-8s %-14s %5s %13s %8s %8s %8s %8s %8s\n", "program", "source", "limit",
			"calls", "pushes", "cut", "beyond", "added", "cut edges"
		next
	}
	function share(name) { return 100 * $column[name] / $column["calls"] }
	{
		printf "%-8s %-14s %5s %13d %8.2f %8.2f %8.2f %8.2f %8d\n", $1, $2, $3,
			$column["calls"], share("pushes"), share("cut") + share("cut_guards"),
			share("beyond_31_bits"), share("added"), $column["cut_edges"]
	}' "$results/cuts-$word.csv"
exit $failed

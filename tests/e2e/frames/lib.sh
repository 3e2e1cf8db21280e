# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Builds the programs of which frames are restored, and checks the frames.  Source it after
# tests/lib.sh.

# frames_build DIR: makes program, plain (the same, not instrumented) and their libplain.so, which
# they look for in DIR
# shellcheck disable=SC2046 # lists of flags
frames_build() {
	local from=$top/tests/e2e/frames
	$CC -O2 -g -fPIC -shared -fomit-frame-pointer "$from/library.c" -o libplain.so &&
		$CC -O2 -g $(pcce-config --cflags) -c "$from/program.c" -o program.o &&
		$CC program.o $(pcce-config --ldflags) -L. -lplain "-Wl,-rpath,$1" -pthread -o program &&
		$CC -O2 -g "$from/program.c" -L. -lplain "-Wl,-rpath,$1" -pthread -o plain
}

# The sequences of library functions, from the function that called the library on, without what the
# C library adds. A stub that calls a function counts as the function. Samples that are restored in
# part are left out: their number has a check of its own.
library_chains() {
	sed 's/ [0-9]*$//; s/@plt//g' "$1" | awk -F';' '{
		for (i = 2; i <= NF && $i !~ /^lib_/; i++);
		for (line = ";" $(i - 1); i <= NF && $i ~ /^(lib_.*|back)$/; i++) line = line ";" $i
		if (line ~ /;lib_/ && line !~ /^;\[truncated\]/) print line }' | sort -u
}
below='(;lib_aligned)?(;lib_saves)?(;lib_any_size)?(;lib_leaf)?'
legal="^;(deep(;lib_recursive){1,7}$below|deep;lib_calls(;back)?$below|work_on;lib_aligned$below)\$"

chains_are_right() { # NAME DATA
	local chain
	pcce-report -q -i "$2" --format=folded >"$2.folded" 2>"$2.folded.err"
	library_chains "$2.folded" >chains
	is "$1: each sequence of frames is one of the program" "$(grep -vE "$legal" chains)" ""
	for chain in 'work_on;lib_aligned;lib_saves;lib_any_size;lib_leaf' 'deep;lib_calls;back;lib_any_size;lib_leaf' \
		'deep;lib_recursive;lib_recursive;lib_recursive;lib_recursive;lib_recursive;lib_recursive;lib_recursive;lib_aligned;lib_saves;lib_any_size;lib_leaf'; do
		check "... $chain" grep -qx ";$chain" chains
	done
	check "$1: frames of the C library are found, too" grep -qE 'main;sort;([^;]*;)+[^;]* [0-9]+$' "$2.folded"
}

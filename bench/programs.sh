# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Builds real programs in the variants that a benchmark needs.  The programs are those of
# tests/programs and bench/programs, which are described in the same way.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all_programs() {
	local f
	for f in "$top"/tests/programs/*.sh "$top"/bench/programs/*.sh; do
		f=${f##*/}
		[ "$f" = lib.sh ] || echo "${f%.sh}"
	done
}

script_of() { # PROGRAM
	local f
	for f in "$top"/{tests/programs,bench/programs{,/hot,/large}}/"$1.sh"; do
		[ ! -f "$f" ] || { echo "$f"; return; }
	done
	echo "bench: cannot find program '$1' in tests/programs or bench/programs" >&2
	return 1
}

# Prints a directory for PATH that has bench/ld under the linkers' names.
linker_directory() {
	local d=$out/bench/ld
	mkdir -p "$d"
	ln -sf "$top/bench/ld" "$d/ld"
	ln -sf "$top/bench/ld" "$d/ld.lld"
	echo "$d"
}

. "$top/bench/inlining.sh"

text_size() { size -A "$1" | awk '/^\.text/ { s += $2 } END { print s }'; }

# build PROGRAM VARIANT FLAGS_C FLAGS_LD: builds the program.  Sets directory, elf (the executable),
# measured (its library, or the same) and command (its workload, for sh).
build() {
	local script
	script=$(script_of "$1") || return 1
	command=$(variant_c=$3 variant_ld=$4 PATH=$(linker_directory):$PATH \
		bash "$script" --command "$2") || {
		echo "bench: cannot build $1: see $out/programs/$1-$2.log" >&2
		return 1
	}
	directory=$(bash "$script" --directory "$2")
	elf=$directory/$(bash "$script" --elf)
	measured=$directory/$(bash "$script" --measured)
}

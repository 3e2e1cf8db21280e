# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# What the benchmarks share: the tests' words, and a way to build a C harness.

. "$(dirname "${BASH_SOURCE[0]}")/../tests/lib.sh"

compile_tool() { # NAME [LIBRARY...]: bench/NAME.c -> $out/bench/NAME
	local name=$1
	shift
	mkdir -p "$out/bench"
	[ "$out/bench/$name" -nt "$top/bench/$name.c" ] ||
		$CC -std=gnu11 -O2 -g -Wall -Wextra -I"$top/include" -o "$out/bench/$name" "$top/bench/$name.c" "$@" || exit 1
}

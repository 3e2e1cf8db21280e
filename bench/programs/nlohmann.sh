#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a JSON library in the style of C++'s standard library.

. "$(dirname "$0")/lib.sh"

name=nlohmann
package=nlohmann-json3
elf=bench-main
input=""
command='"$prog"'

build() {
	$CXX $flags_c -Isingle_include "$here/nlohmann/main.cc"  $flags_ld -o bench-main
}

program_main "$@"

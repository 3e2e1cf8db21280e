#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a chess engine: recursive search.  Only in crazyhouse does it search to a fixed depth
# when input waits.  Its random numbers must be the same in each run.

. "$(dirname "$0")/lib.sh"

name=sjeng
package=sjeng
elf=sjeng
input=work
command='"$prog" <"$inputs/sjeng.work" | grep ^move'

work() { printf '%s\n' xboard new 'variant crazyhouse' nopost 'st 100000' 'sd 8' d2d4 go quit; }
input_work() { make_once sjeng.work work; }

build() {
	sed -i 's/srand *(.*);/srand(1);/' ./*.c
	sh ./configure CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make CFLAGS="$flags_c -std=gnu89"
}

program_main "$@"

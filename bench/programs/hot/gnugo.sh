#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a go engine, which SPEC has as gobmk: deep recursive searches, pattern matching.

. "$(dirname "$0")/lib.sh"

name=gnugo
package=gnugo
elf=interface/gnugo
input=""
command='printf "genmove b\ngenmove w\nquit\n" | "$prog" --mode gtp --seed 1 --boardsize 9'

build() {
	find . '(' -name aclocal.m4 -o -name configure -o -name Makefile.in -o -name '*.h.in' ')' \
		-exec touch {} +
	sh ./configure --without-curses --without-readline CC="$CC" CFLAGS="$flags_c -fcommon" \
		LDFLAGS="$flags_ld"
	make -j2 CFLAGS="$flags_c -fcommon"
}

program_main "$@"

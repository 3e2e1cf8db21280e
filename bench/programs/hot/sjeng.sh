#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a chess engine, of which SPEC has a later version: alpha-beta search, here in the
# variant crazyhouse.
#
# It does the same in each run, for these reasons:
#
#   - The depth limits the search (sd), not the time (st, in seconds).
#   - It has no file of openings, so it does not choose one by chance.
#   - What it has learned in earlier runs is removed (*.lrn).
#   - It does not think in the opponent's time (easy).
#   - In crazyhouse, further input does not end a search.

. "$(dirname "$0")/lib.sh"

name=sjeng
package=sjeng
elf=sjeng
input=""
game='xboard\nnew\nvariant crazyhouse\neasy\nst 100000\nsd 9\nd2d4\ngo\nquit\n'
command="rm -f *.lrn; printf '$game' | \"\$prog\" | grep ^move"

# Its headers define variables, which -fcommon allows.
build() {
	find . '(' -name aclocal.m4 -o -name configure -o -name Makefile.in -o -name config.h.in \
		-o -name stamp-h.in ')' -exec touch {} +
	sh ./configure CC="$CC" CFLAGS="$flags_c -fcommon" LDFLAGS="$flags_ld"
	make -j2 CFLAGS="$flags_c -fcommon" sjeng
}

program_main "$@"

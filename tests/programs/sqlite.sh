#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a database: one huge translation unit, many indirect calls, a virtual machine.

. "$(dirname "$0")/lib.sh"

name=sqlite
package=sqlite3
elf=sqlite3
input=""
command='"$prog" -batch :memory: <"$here/sqlite/work.sql"'

build() {
	./configure --disable-tcl --disable-readline --disable-shared CC="$CC" CFLAGS="$flags_c" \
		LDFLAGS="$flags_ld"
	make -j2 sqlite3
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a debugger: about 500,000 lines of C++, and the C of bfd, opcodes and readline in the
# same executable.

. "$(dirname "$0")/../lib.sh"

name=gdb
package=gdb
elf=out/gdb/gdb
input=""
command='"$prog" -nx -batch -ex "maint expand-symtabs" -ex "info scope main" "$prog"'

build() {
	mkdir -p out
	cd out || exit
	../configure --disable-werror --disable-nls --disable-sim --disable-gdbserver --disable-ld \
		--disable-gas --disable-gold --disable-binutils --disable-gprof --disable-gprofng \
		--disable-source-highlight --disable-inprocess-agent --without-python \
		--without-guile --without-debuginfod --without-xxhash --with-system-zlib \
		CC="$CC" CXX="$CXX" CFLAGS="$flags_c" CXXFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -j2 MAKEINFO=true all-gdb
}

program_main "$@"

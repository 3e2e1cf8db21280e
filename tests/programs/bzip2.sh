#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a compressor: recursion in its sort, plain make.

. "$(dirname "$0")/lib.sh"

name=bzip2
package=bzip2
elf=bzip2
input="text"
command='"$prog" -9 -c "$inputs/text"'

# Debian links the program with a shared library, and it would run with the system's, which is not
# instrumented.
build() {
	make -j2 libbz2.a bzip2.o CC="$CC" CFLAGS="$flags_c -D_FILE_OFFSET_BITS=64"
	$CC $flags_c $flags_ld -o bzip2 bzip2.o libbz2.a
}

program_main "$@"

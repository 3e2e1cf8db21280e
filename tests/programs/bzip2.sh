#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A compressor: recursion in its sort, plain make.

. "$(dirname "$0")/lib.sh"

name=bzip2
package=bzip2
elf=bzip2
input="text"
command='"$prog" -9 -c "$inputs/text"'

build() {
	make -j2 bzip2 CC="$CC" CFLAGS="$flags_c -D_FILE_OFFSET_BITS=64" LDFLAGS="$flags_ld"
}

program_main "$@"

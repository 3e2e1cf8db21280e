#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs only in check-verify
# Describes an awk interpreter with hash tables, regular expressions and byte code.

. "$(dirname "$0")/lib.sh"

name=mawk
package=mawk
elf=mawk
input="text"
command='"$prog" -f "$here/mawk/work.awk" "$inputs/text"'

build() {
	./configure CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -j2
}

program_main "$@"

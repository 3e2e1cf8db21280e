#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# An interpreter with its standard extensions' core: half a million lines of C in one executable.

. "$(dirname "$0")/../lib.sh"

name=python
package=python3.11
elf=python
input=""
command='"$prog" -S -E -c "print(sum(len(str(i)) for i in range(3000000)))"'

build() {
	./configure --without-ensurepip --disable-test-modules --without-doc-strings CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -j2 python
}

program_main "$@"

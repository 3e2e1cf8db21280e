#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs only in check-verify
# Describes make: parser, nested expansion, recursion through function pointers.

. "$(dirname "$0")/lib.sh"

name=make
package=make-dfsg
elf=make
input=""
command='"$prog" -s -r -f "$here/make/work.mk"'

# Debian's source has no configure script; the package makes it in the same way.
build() {
	autoreconf -fi
	./configure --disable-nls --with-guile=no CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -j2
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes an editor in batch mode: its regular expressions, undo tree and script language.

. "$(dirname "$0")/lib.sh"

name=vim
package=vim
elf=src/vim
input="text"
command='rm -f out.txt; "$prog" -u NONE -i NONE -n -N -es -S "$here/vim/work.vim" "$inputs/text"'
command="$command; cksum <out.txt"

build() {
	./configure --with-features=normal --enable-gui=no --without-x --disable-nls --disable-gpm \
		--disable-selinux --disable-acl --disable-canberra --disable-libsodium \
		--with-tlib=ncurses CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -C src -j2 vim STRIP=true
}

program_main "$@"

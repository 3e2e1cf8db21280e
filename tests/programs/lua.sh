#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes an interpreter: deep recursion in C through luaV_execute, longjmp, libtool.

. "$(dirname "$0")/lib.sh"

name=lua
package=lua5.4
elf=src/lua5.4
input=""
command='"$prog" "$here/lua/calls.lua"'

# Debian's rules prepare a header that names the architecture before they call make.
build() {
	echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' >src/lua5.4-deb-multiarch.h
	lua_make() {
		make "$@" LIBTOOL="libtool --quiet" CC="$CC -std=gnu99" CXX="$CXX" \
			CFLAGS="$flags_c -DLUA_COMPAT_5_3 -DLUA_USE_LINUX" LDFLAGS="$flags_ld"
	}
	# Makes objects in parallel, but not the two libraries, whose rule makes both twice.
	lua_make -C src -j2 o
	lua_make linux
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Describes Lua 5.1.  Lua's test suite is a separate archive.  Debian has no package with that of
# Lua 5.4.  That of 5.1 is part of the source of a Lua interpreter in Go, whose package is fetched
# for it.

. "$(dirname "$0")/lib.sh"

name=lua
package=lua5.1
elf=src/lua
minimum=15
tests_package=golang-github-yuin-gopher-lua

# Without Debian's libtool.
build() {
	cp -r "$programs/source-$tests_package/_lua5.1-tests" tests
	echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' >src/lua5.1-deb-multiarch.h
	# shellcheck disable=SC2086 # lists of flags
	(cd src && for f in l*.c; do [ "$f" = luac.c ] || echo "$f"; done | xargs -P 2 -n 4 $CC $flags_c -DLUA_USE_POSIX -DLUA_USE_DLOPEN -c)
	# shellcheck disable=SC2086
	$CC -o src/lua src/*.o $flags_ld -Wl,-E -lm -ldl
}
# Runs one file alone.  Some files need the setup of all.lua, and fail in both builds.  Removes
# numbers that change each time from the output.
one() { # FILE
	(cd tests && ../src/lua "$1" >"$1.log" 2>&1 </dev/null; echo "status $?" >>"$1.log")
	sed -i -e 's/0x[0-9a-f]*//g; s/lua_[A-Za-z0-9]*//g; s/[0-9.]* *\(seconds\|sec\|msec\|K\|comparisons\)//g; s/time: .*//; s/^test done on .*//' "tests/$1.log"
}
suite() {
	local f
	for f in tests/*.lua; do
		one "${f#tests/}"
	done
}
results() {
	local f
	for f in tests/*.lua.log; do
		echo "$(basename "$f" .log) $(grep -qx 'status 0' "$f" && echo PASS || echo FAIL):$(cksum <"$f" | tr ' ' -)"
	done
}
again() {
	local f
	for f; do
		one "$f"
	done
}

# The mirror does not always have the whole package.
if [ $# = 0 ] && ! "$top/scripts/fetch-source" $tests_package "$programs/source-$tests_package" \
	>"$scratch/log" 2>&1; then
	skip_all "the tests of Lua cannot be had: $(tail -n 1 "$scratch/log")"
fi
suite_main "$@"

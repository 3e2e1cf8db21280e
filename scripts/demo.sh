#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# `make demo`: sets up, builds pcce, and builds Lua 5.4 from Debian's source package with pcce-gcc.
# Then it records a call-intensive script and shows in which contexts it spent its time.

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
out=${O:-build}
case $out in /*) ;; *) out=$top/$out ;; esac
demo=$out/demo
lua=$demo/lua5.4
unset CFLAGS LDFLAGS MAKEFLAGS MFLAGS

step() {
	printf '\n== %s\n' "$1"
}

quietly() { # LOG COMMAND...: shows the output only if the command fails
	local log=$1
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 40 "$log" >&2
		echo "demo: cannot run '$*': it failed; all output is in $log" >&2
		exit 1
	}
}

step "packages"
scripts/setup --demo
echo "all there"

step "building pcce"
make --no-print-directory -j"$(nproc)" all
mkdir -p "$demo"
PATH=$out/bin:$PATH

step "building Lua 5.4 from Debian's source package, with pcce-gcc"
if ! [ -e "$lua/src/lapi.c" ]; then
	rm -rf "$lua"
	scripts/fetch-source lua5.4 "$lua"
	# Debian's rules prepare this file before they call make.
	echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' >"$lua/src/lua5.4-deb-multiarch.h"
fi
echo '$ make linux LIBTOOL=libtool CC=pcce-gcc CFLAGS="-O2 -g -DLUA_USE_LINUX"'
lua_make() {
	quietly "$demo/build.log" make -C "$lua" LIBTOOL=libtool "$@" CC=pcce-gcc \
		CFLAGS="-O2 -g -DLUA_COMPAT_5_3 -DLUA_USE_LINUX"
}
# Only objects are made in parallel: Debian's rule makes each of the two libraries twice.
rm -f "$lua"/src/*.{o,lo,la} "$lua"/src/lua{,c}5.4
lua_make -C src -j"$(nproc)" o
lua_make linux

step "recording a script"
data=$demo/lua.data
echo "\$ pcce-record -F 999 -o ${data#"$top"/} -- lua5.4 tests/programs/lua/calls.lua"
PATH=$lua/src:$PATH pcce-record -F 999 -o "$data" -- lua5.4 tests/programs/lua/calls.lua

step "where the time went: pcce-report -i ${data#"$top"/}"
pcce-report -i "$data" --format=tree >"$demo/tree.txt"
sed -n 1,60p "$demo/tree.txt"
if [ "$(wc -l <"$demo/tree.txt")" -gt 60 ]; then
	echo "... (all of it: ${demo#"$top"/}/tree.txt)"
fi

step "how sure that is: pcce-report --stats"
pcce-report -i "$data" --stats

pcce-report -i "$data" --format=html >"$demo/lua-flamegraph.html"
step "flame graph: open this in a browser"
echo "$demo/lua-flamegraph.html"

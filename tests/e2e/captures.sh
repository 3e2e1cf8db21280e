#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Captured contexts against the real stack: the program unwinds its stack at each capture.
#
#   captures.sh              60,000 captures
#   captures.sh --full       a million in each form of program

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
[ ${#sanitize[@]} = 0 ] || skip_all "the program cannot load libraries with sanitizers"
command -v pkg-config >/dev/null || skip_all "pkg-config is not installed"
export PKG_CONFIG_PATH=$out/lib/pkgconfig LD_LIBRARY_PATH=$out/lib
count=20000
[ "${1-}" != --full ] || count=1000000

# unwound NAME FLAGS...
unwound() {
	local name=$1
	shift
	# shellcheck disable=SC2046
	if ! $CC -g -I"$top/userlib" $(pkg-config --cflags pcce) "$@" "$top/tests/e2e/contexts/unwound.c" \
		$(pkg-config --cflags --libs pcce-decode) $(pkg-config --libs pcce) -pthread -o unwound >log 2>&1; then
		not_ok "$name: unwound.c is built" log
	elif timeout 1500 ./unwound $count >counts 2>log; then
		ok "$name: captured contexts are those of the real stack"
		echo "#   $(cat counts)"
		check "$name: there are enough" [ "$(cut -d ' ' -f 1 counts)" -ge $count ]
	else
		not_ok "$name: captured contexts are those of the real stack" "$(head -n 40 log)"
	fi
}

unwound -O0 -O0
unwound -O2 -O2
unwound "-O3 -no-pie" -O3 -no-pie -fno-pie
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# diff, cmp, diff3, sdiff, and the tests of gnulib for what they take from there.

. "$(dirname "$0")/lib.sh"

name=diffutils
package=diffutils
elf=src/diff
elves="src/cmp src/diff3 src/sdiff"
minimum=150

build() {
	configure_and_make
}
suite() {
	check_with_make -j2 -k check
}
results() {
	automake_results
}
again() {
	automake_again "$@"
}

suite_main "$@"

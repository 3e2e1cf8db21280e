#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# tar: a suite of autotest's.

. "$(dirname "$0")/lib.sh"

name=tar
package=tar
elf=src/tar
minimum=150

build() {
	export FORCE_UNSAFE_CONFIGURE=1
	configure_and_make
}
suite() {
	check_with_make -k check TESTSUITEFLAGS=-j2
}
# A line for each test: "NUMBER. NAME (FILE:LINE): RESULT ...".
results() {
	sed -n 's/^ *\([0-9]*\)\. .* ([^ ]*): \(ok\|skipped\|FAILED\|expected failure\|UNEXPECTED PASS\).*/\1 \2/p' tests/testsuite.log |
		sed -e 's/ ok$/ PASS/' -e 's/ skipped$/ SKIP/' -e 's/ FAILED$/ FAIL/' -e 's/ expected failure$/ XFAIL/' -e 's/ UNEXPECTED PASS$/ XPASS/'
}
again() {
	check_with_make -k check TESTSUITEFLAGS="$*"
}

suite_main "$@"

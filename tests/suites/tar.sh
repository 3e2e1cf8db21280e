#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes tar, whose suite uses autotest.

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
	check_with_make -k check TESTSUITEFLAGS=-j2 2>&1 | tee all.log
}
# A line for each test: "NUMBER: NAME   RESULT ..."; the last one if the test was run again.
results() {
	awk 'match($0, / (ok|skipped|FAILED|expected failure|UNEXPECTED PASS)( *[(][^)]*[)])?$/) && match($0, /^ *[0-9]+: /) {
			r = $0; sub(/ *[(][^)]*[)]$/, "", r); sub(/.* /, "", r)
			result[$1 + 0] = r == "ok" ? "PASS" : r == "skipped" ? "SKIP" : r == "FAILED" ? "FAIL" : r == "failure" ? "XFAIL" : "XPASS" }
		END { for (n in result) print n, result[n] }' all.log
}
again() {
	check_with_make -k check TESTSUITEFLAGS="$*" >>all.log 2>&1
}

suite_main "$@"

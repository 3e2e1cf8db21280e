#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# cppcheck: 100,000 lines of C++ with exceptions, templates and virtual functions, and some 4,000 tests of them.

. "$(dirname "$0")/lib.sh"

name=cppcheck
package=cppcheck
elf=testrunner
minimum=2000

# Half of the time at -O1 instead of -O2, which others here have.
build() {
	make -j2 testrunner CXX="$CXX" CXXFLAGS="${flags_c/-O2/-O1} -std=c++11" LDFLAGS="$flags_ld" HAVE_RULES=no
}
suite() {
	./testrunner >testrunner.log 2>&1
	echo "status $?" >>testrunner.log
}
# It names each test before it runs it, and in the messages about those that fail, which come at the end.
results() {
	awk '/^Test[A-Za-z0-9]*::[^ ]*$/ && !($0 in result) { result[$0] = "PASS" }
		/: Assertion .*|[(]Test[A-Za-z0-9]*::[^ )]*[)]/ && match($0, /[(]Test[A-Za-z0-9]*::[^ )]*[)]/) {
			result[substr($0, RSTART + 1, RLENGTH - 2)] = "FAIL" }
		/^(status|Tests failed:|Number of (tests|todos):) / { print $(NF - 1) "-" NF, $NF }
		END { for (t in result) print t, result[t] }' testrunner.log
}
again() {
	suite
}

suite_main "$@"

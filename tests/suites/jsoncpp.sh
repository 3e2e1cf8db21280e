#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes jsoncpp, a C++ library whose exceptions cross into the program: its unit tests, and its
# documents.

. "$(dirname "$0")/lib.sh"

name=jsoncpp
package=libjsoncpp
elf=jsoncpp_test
elves="libjsoncpp.so jsontestrunner"
minimum=100

# Builds as its CMakeLists.txt do, except for those of the tests.
# shellcheck disable=SC2086 # lists of flags
build() {
	$CXX $flags_c -fPIC -shared -Iinclude src/lib_json/*.cpp $flags_ld -o libjsoncpp.so
	link="$flags_ld -L. -ljsoncpp -Wl,-rpath,$PWD"
	$CXX $flags_c -Iinclude src/test_lib_json/*.cpp $link -o jsoncpp_test
	$CXX $flags_c -Iinclude src/jsontestrunner/*.cpp $link -o jsontestrunner
}
unit_tests() {
	./jsoncpp_test >unit.log 2>&1
	echo "status $?" >>unit.log
}
# It writes two files for a document, next to it.
document() { # FILE
	./jsontestrunner "$1" >"$1.log" 2>&1
	echo "status $?" >>"$1.log"
	cat "${1%.json}.actual" "${1%.json}.rewrite" >>"$1.log" 2>/dev/null
}
suite() {
	local f
	unit_tests
	for f in test/data/*.json; do
		document "$f"
	done
}
results() {
	local f
	sed -n -e 's/^Testing \([^ ]*\): OK$/\1 PASS/p' \
		-e 's/^Testing \([^ ]*\): .*FAIL.*/\1 FAIL/p' -e 's/^status 0$/status PASS/p' \
		-e 's/^status [1-9].*/status FAIL/p' unit.log
	for f in test/data/*.json.log; do
		echo "$(basename "$f" .json.log) $(sed -n 's/^status 0$/PASS/p; s/^status [1-9].*/REFUSED/p' "$f" | head -n 1):$(cksum <"$f" | tr ' ' -)"
	done
}
again() {
	suite
}

suite_main "$@"

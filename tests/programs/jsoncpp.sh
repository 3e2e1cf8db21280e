#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes jsoncpp's unit tests: C++ with classes, containers, exceptions.  All tests run many
# times, and most often the one that throws.

. "$(dirname "$0")/lib.sh"

name=jsoncpp
package=libjsoncpp
elf=jsoncpp_test
input=names
command='"$prog" $(cat "$inputs/jsoncpp-names")'

# shellcheck disable=SC2086 # lists of flags
build() {
	# C++20, the default of GCC 16, has another type for u8"".
	$CXX -std=c++17 $flags_c -Iinclude src/lib_json/*.cpp src/test_lib_json/*.cpp $flags_ld -o jsoncpp_test
}

# The program's source has the names.
input_names() {
	"$top/scripts/fetch-source" "$package" "$programs/source-$package" || return 1
	make_once jsoncpp-names awk '
		/^JSONTEST_FIXTURE_LOCAL[(]/ && !/Windows/ { split($0, part, /[(), ]+/); all[n++] = part[2] "/" part[3] }
		END {
			for (round = 0; round < 150; round++) {
				for (i = 0; i < n; i++) print "--test", all[i]
				for (i = 0; i < 20; i++) print "--test ValueTest/typeChecksThrowExceptions"
			}
		}' "$programs/source-$package/src/test_lib_json/main.cpp"
}

program_main "$@"

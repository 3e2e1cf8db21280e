#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a JSON parser in C++ whose templates are nearly all inlined.

. "$(dirname "$0")/lib.sh"

name=rapidjson
package=rapidjson
elf=bench-main
input=""
command='"$prog"'

# GCC 14 refuses an assignment of a constant member, which nothing uses.
build() {
	sed -i '/GenericStringRef& operator=(const GenericStringRef& rhs)/d' \
		include/rapidjson/document.h
	$CXX $flags_c -Iinclude "$here/rapidjson/main.cc"  $flags_ld -o bench-main
}

program_main "$@"

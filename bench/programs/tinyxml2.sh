#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes an XML parser in C++ that has a tree of nodes with virtual functions.

. "$(dirname "$0")/lib.sh"

name=tinyxml2
package=tinyxml2
elf=bench-main
input=""
command='"$prog"'

build() {
	$CXX $flags_c -I. "$here/tinyxml2/main.cc" tinyxml2.cpp $flags_ld -o bench-main
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes an XML parser with XPath, in C++.

. "$(dirname "$0")/lib.sh"

name=pugixml
package=pugixml
elf=bench-main
input=""
command='"$prog"'

build() {
	$CXX $flags_c -Isrc "$here/pugixml/main.cc" src/pugixml.cpp $flags_ld -o bench-main
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs only in check-verify
# Describes find: expression tree of function pointers, callbacks from fts.

. "$(dirname "$0")/lib.sh"

name=find
package=findutils
elf=find/find
input="tree"
command='cd "$inputs" && t="tree tree tree tree tree"; "$prog" $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t -regex ".*/e[0-9]*[05]/file[0-9]*\(1\|7\)+\.\(c\|txt\)" -o -name "*9.c" -newermt 2019-01-01 -printf "%p %s %TY\n"'

build() {
	configure_and_make
}

program_main "$@"

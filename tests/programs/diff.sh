#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs only in check-verify
# Describes a comparer: divide and conquer.

. "$(dirname "$0")/lib.sh"

name=diff
package=diffutils
elf=src/diff
input="text text2"
command='"$prog" -u --minimal "$inputs/text" "$inputs/text2" || [ $? = 1 ]'

build() {
	configure_and_make
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs only in check-verify
# Describes a matcher: DFA and backtracking.

. "$(dirname "$0")/lib.sh"

name=grep
package=grep
elf=src/grep
input="text"
command='"$prog" -E -c "(([a-z]+)e )+.* \2[a-z]* .*[0-4]$" "$inputs/text"'

# Uses grep's regular expression code, which is then instrumented too.
build() {
	configure_and_make --disable-perl-regexp --with-included-regex
}

program_main "$@"

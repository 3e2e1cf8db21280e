#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes grep with its regular expression code, and the tests of gnulib for the code that it
# uses.

. "$(dirname "$0")/lib.sh"

name=grep
package=grep
elf=src/grep
minimum=200

build() {
	configure_and_make --disable-perl-regexp --with-included-regex
}

suite_main "$@"

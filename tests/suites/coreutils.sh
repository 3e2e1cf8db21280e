#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes coreutils, a hundred programs for files, text and processes, with the tests of gnulib
# for the code that they use from there.

. "$(dirname "$0")/lib.sh"

name=coreutils
package=coreutils
elf=src/sort
elves="src/ls src/cp src/timeout src/tail src/dd src/factor"
minimum=400

# Its configure script refuses to run as root without this word.
build() {
	export FORCE_UNSAFE_CONFIGURE=1
	configure_and_make
}

suite_main "$@"

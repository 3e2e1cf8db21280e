#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A hundred programs in one source: files, text, processes; and the tests of gnulib for what they take from there.

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

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# sed, and the tests of gnulib for what it takes from there.

. "$(dirname "$0")/lib.sh"

name=sed
package=sed
elf=sed/sed
minimum=150
help2man='$(top_srcdir)/build-aux/help2man' # true is no Perl

build() {
	configure_and_make
}
suite() {
	check_with_make -j2 -k check
}
results() {
	automake_results
}
again() {
	automake_again "$@"
}

suite_main "$@"

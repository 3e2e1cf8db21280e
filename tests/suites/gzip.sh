#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# gzip.

. "$(dirname "$0")/lib.sh"

name=gzip
package=gzip
elf=gzip
minimum=15

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

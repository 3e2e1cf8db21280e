#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs only in check-verify
# Describes a compressor: few functions, called very often.

. "$(dirname "$0")/lib.sh"

name=gzip
package=gzip
elf=gzip
input="text"
command='"$prog" -9 -c "$inputs/text"'

build() {
	configure_and_make
}

program_main "$@"

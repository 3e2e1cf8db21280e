#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes the Python interpreter as one executable that holds its modules in C.

. "$(dirname "$0")/../lib.sh"
. "$here/python/build.sh"

name=python
package=python3.11
elf=python
input=""
command='PYTHONHASHSEED=0 "$prog" -S -B "$here/python/work.py"'

build() {
	build_python --disable-shared
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes the Python interpreter as a shared library, which a small executable calls.

. "$(dirname "$0")/../lib.sh"
. "$here/python/build.sh"

name=libpython
package=python3.11
elf=python
library=libpython3.11.so.1.0
input=""
command='PYTHONHASHSEED=0 "$prog" -S -B "$here/python/work.py"'

build() {
	flags_ld="$flags_ld -Wl,-rpath,$PWD"
	build_python --enable-shared
}

program_main "$@"

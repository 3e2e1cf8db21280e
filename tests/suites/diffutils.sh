#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# diff, cmp, diff3, sdiff, and the tests of gnulib for what they take from there.

. "$(dirname "$0")/lib.sh"

name=diffutils
package=diffutils
elf=src/diff
elves="src/cmp src/diff3 src/sdiff"
minimum=150

suite_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes diff, cmp, diff3 and sdiff, with the tests of gnulib for the code that they use from
# there.

. "$(dirname "$0")/lib.sh"

name=diffutils
package=diffutils
elf=src/diff
elves="src/cmp src/diff3 src/sdiff"
minimum=150

suite_main "$@"

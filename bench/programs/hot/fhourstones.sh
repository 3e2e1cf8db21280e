#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a solver of the game connect-4: alpha-beta search in few functions.  Debian does not
# have it.

. "$(dirname "$0")/lib.sh"

name=fhourstones
package=fhourstones
elf=SearchGame
input=""
command='echo 35333571 | "$prog" | grep ^score'

build() {
	# shellcheck disable=SC2086 # lists of flags
	$CC $flags_c SearchGame.c $flags_ld -o SearchGame
}

program_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes the Perl interpreter as one executable.

. "$(dirname "$0")/../lib.sh"

name=perl
package=perl
elf=perl
input=""
command='PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 "$prog" "$here/perl/work.pl"'

build() {
	sh Configure -des -Dcc="$CC" -Doptimize="$flags_c" -Aldflags="$flags_ld" -Uusedl \
		-Dnoextensions='Encode DB_File GDBM_File NDBM_File ODBM_File' -Uinstallusrbinperl
	make -j2 perl
}

program_main "$@"

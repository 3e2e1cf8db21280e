#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs only in check-verify
# Describes an archiver: mostly system calls.

. "$(dirname "$0")/lib.sh"

name=tar
package=tar
elf=src/tar
input="tree"
command='"$prog" -C "$inputs" --sort=name --owner=0 --group=0 --format=posix --pax-option=delete=atime,delete=ctime -cf - tree tree tree tree tree tree tree tree tree tree tree tree tree tree tree tree'

# Its configure script refuses to run as root without this word.
build() {
	export FORCE_UNSAFE_CONFIGURE=1
	# Newer versions of libacl have a function of the same name as tar.
	configure_and_make --without-posix-acls
}

program_main "$@"

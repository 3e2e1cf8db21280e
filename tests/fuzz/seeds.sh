#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
#   tests/fuzz/seeds.sh DIR
#
# Makes the seeds whose formats have versions, so that they are of this version: DIR/elf,
# DIR/table and DIR/datafile. The others are in tests/fuzz/corpus.

. "$(dirname "$0")/../lib.sh"

to=$1
mkdir -p "$to/elf" "$to/table" "$to/datafile"
to=$(cd "$to" && pwd)
cd "$scratch" || exit 1
set -e

assemble "$top/tests/fuzz/seed_elf.s" -o s.o
echo 'void ext(void) {}' | $CC -nostdlib -shared -fPIC -x c - -o libe.so
small="-s -z noseparate-code -z max-page-size=16 -z common-page-size=16 --hash-style=gnu"
# shellcheck disable=SC2086 # options
{
	ld $small -pie s.o libe.so -o "$to/elf/pie"
	ld $small -Bstatic --unresolved-symbols=ignore-all s.o -o "$to/elf/fixed"
}
pcce-encode -o "$to/elf/encoded" "$to/elf/pie" 2>log || { cat log >&2 && exit 1; }
objcopy -O binary --only-section=.pcce --set-section-flags .pcce=alloc "$to/elf/encoded" table
# The first byte lets the fuzzer correct the checksum.
(printf '\1' && cat table) >"$to/table/small"

build_generator
for kind in small verify threads deep; do
	generate_unpacked $kind "$to/datafile/$kind"
done
rm "$to"/datafile/{verify,threads,deep}.packed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a cryptographic library in C++ by its command-line tool, which tests whether a number is
# prime.

. "$(dirname "$0")/lib.sh"

name=botan
package=botan
elf=botan
input=""
varies="it tests a prime with random numbers"
command='"$prog" is_prime --prob=40000 170141183460469231731687303715884105727'

build() {
	./configure.py --cc-bin="$CXX" --minimized-build --disable-shared-library \
		--enable-modules=rsa,ecdsa,aes,sha2_32,sha2_64,auto_rng,system_rng,pbkdf2,gcm \
		--build-targets=static,cli --without-documentation --no-optimizations \
		--cxxflags="$flags_c -std=c++11" --ldflags="$flags_ld"
	make -j2
}

program_main "$@"

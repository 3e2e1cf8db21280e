#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a cryptographic library, libcrypto, by a command that decodes and prints certificates.

. "$(dirname "$0")/../lib.sh"

name=openssl
package=openssl
elf=apps/openssl
library=libcrypto.so.3
input=""
command='"$prog" storeutl -certs -text "$prog.certificates"'

build() {
	./Configure linux-x86_64 no-tests CC="$CC" CFLAGS="$flags_c" \
		LDFLAGS="$flags_ld -Wl,-rpath,$PWD"
	make -j2 build_generated
	make -j2 apps/openssl
	cat test/certs/*-cert.pem test/certs/*-cert.pem >apps/openssl.certificates
}

program_main "$@"

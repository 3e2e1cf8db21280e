#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a cryptographic library, libcrypto, by a command that decodes and prints certificates.

. "$(dirname "$0")/../lib.sh"

name=openssl
package=openssl
elf=apps/openssl
library=libcrypto.so.3
input=""
command='"$prog" pkcs7 -print_certs -text -noout -in "$prog.certificates"'

build() {
	./Configure linux-x86_64 no-tests CC="$CC" CFLAGS="$flags_c" \
		LDFLAGS="$flags_ld -Wl,-rpath,$PWD"
	make -j2 build_generated
	make -j2 apps/openssl
	# Some of the certificates are damaged on purpose.
	for c in test/certs/*-cert.pem; do
		if apps/openssl x509 -in "$c" -noout -text >/dev/null 2>errors &&
			[ ! -s errors ]; then
			for _ in $(seq 40); do cat "$c"; done >>certificates
		fi
	done
	apps/openssl crl2pkcs7 -nocrl -certfile certificates -out apps/openssl.certificates
}

program_main "$@"

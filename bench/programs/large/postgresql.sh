#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a database server in single-user mode.  WORK selects one of two sets of queries: joins
# (scans, joins, aggregates, sorting) or updates (many short statements that change rows).

. "$(dirname "$0")/../lib.sh"

name=postgresql
package=postgresql-15
elf=src/backend/postgres
input=""
command='rm -rf data && cp -a "$prog.data" data && "$prog" --single -j -D data -c fsync=off'
command="$command"' postgres <"$here/postgresql/${WORK:-joins}.sql"'

# The server refuses to run as root, which tests may be.  The database is made once, here.
build() {
	sed -i 's/do_check_root = true/do_check_root = false/' src/backend/main/main.c
	sed -i 's/geteuid() == 0/false/' src/bin/initdb/initdb.c
	./configure --prefix="$PWD/installed" --without-readline --without-zlib --without-icu \
		CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -C src/backend generated-headers
	make -j2 -C src/backend
	for d in src/backend src/timezone src/backend/snowball src/interfaces/libpq \
		src/pl/plpgsql/src src/bin/initdb; do
		make -j2 -C $d install
	done
	installed/bin/initdb --no-locale -E SQL_ASCII -U postgres -N -D $elf.data
}

program_main "$@"

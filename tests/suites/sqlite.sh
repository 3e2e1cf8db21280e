#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Describes sqlite, whose tests are Tcl scripts.  A program that contains all of sqlite and Tcl runs
# them.  "Veryquick" takes a quarter of an hour of one processor.  These files are a part of it that
# covers the language, its types, transactions and the file format.  SQLITE_TESTS=veryquick runs all
# of it.

. "$(dirname "$0")/lib.sh"

name=sqlite
package=sqlite3
elf=testfixture
minimum=10000
: "${SQLITE_TESTS:=aggnested alter analyze attach auth autoinc autovacuum avtrans backup between \
	bigrow bind blob boundary1 capi2 cast check collate1 collate2 colname conflict count \
	createtab cursorhint date default delete descidx distinct e_expr e_select enc exists expr \
	fkey func having1 hook in index insert intpkey join like limit lock memdb minmax misc1 \
	misc2 notnull null orderby pager1 pragma printf quote rowid savepoint schema select \
	shared sort subquery subselect table tempdb trans trigger types union unique update \
	upsert vacuum view where window with without_rowid}"

build() {
	./configure --with-tcl=/usr/lib/tcl8.6 --disable-readline --disable-shared CC="$CC" \
		CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -j2 testfixture
}

# Scripts whose name is one of the words, possibly followed by digits; not those that test running
# out of memory.
files() {
	local word f
	for word in $SQLITE_TESTS; do
		for f in test/"$word".test test/"$word"[0-9].test test/"$word"[A-Z].test \
			test/"$word"[0-9][0-9].test; do
			[ ! -e "$f" ] || echo "$f"
		done
	done | grep -v savepoint6 | sort -u # savepoint6 takes as long as all others
}
one() { # FILE
	local log=${1%.test}.log
	./testfixture "$1" >"$log" 2>&1
	echo "status $?" >>"$log"
}
suite() {
	local f
	rm -f test/*.log
	[ "$SQLITE_TESTS" != veryquick ] || { one test/veryquick.test; return; }
	for f in $(files); do
		one "$f"
	done
}
# A test may occur more than once in a file.  How a script ends is a result, too.  Some names end
# with a random number (trans-9, avtrans-9: rows), or depend on the place of the build
# (pager1-16.1: the length of its path).
results() {
	local log
	for log in test/*.log; do
		awk -v script="$(basename "$log" .log)" '
			/^! [^ ]+ (expected|got):/ { bad[$2] = 1; next }
			/\.\.\. Ok$/ || /\.\.\.$/ || /^! / {
				t = $1; sub(/\.\.\.$/, "", t)
				if (t ~ /^((av)?trans-9|pager1-16\.1)\./) sub(/[-.][0-9]+$/, "", t)
				if (/Ok$/) { print script "/" t (n[t]++ ? ":" n[t] : ""), "PASS" }
			}
			/^[0-9]+ errors out of [0-9]+ tests/ { print script "/errors", $1; print script "/tests", $5 }
			/^status / { print script "/status", $2 }
			END { for (t in bad) print script "/" t, "FAIL" }' "$log"
	done
}
again() { # SCRIPT/TEST
	local t
	for t; do
		one "test/${t%%/*}.test"
	done
}

suite_main "$@"

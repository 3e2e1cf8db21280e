#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes GNU make, whose driver is a Perl program.  Each of its scripts makes many runs.

. "$(dirname "$0")/lib.sh"

name=make
package=make-dfsg
elf=make
minimum=100

build() {
	# A busy machine needs more than the 5 seconds that the driver allows for each run.
	sed -i 's/test_timeout = 5;/test_timeout = 120;/' tests/*.pl
	autoreconf -fi
	./configure --disable-nls --with-guile=no CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -j2
}
drive() {
	# The tested make must not get the flags of an outer make.
	(cd tests && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS perl ./run_make_tests.pl -srcdir "$OLDPWD" -make ../make "$@")
}
suite() {
	drive >driver.log 2>&1
	cat driver.log
}
# The result of a script is the driver's count of correct runs.  Messages come between the name and
# that count.
results() {
	awk '/^[a-z]+\/[^ ]+ \.\.\.+/ { name = $1; said[name] = "NOTHING" }
		match($0, /(ok|FAILED) *\([0-9\/]+ passed\)/) && name != "" {
			split(substr($0, RSTART, RLENGTH), w, /[ ()]+/); said[name] = (w[1] == "ok" ? "PASS:" : "FAIL:") w[2] }
		/N\/A *$/ { said[name] = "SKIP" }
		END { for (n in said) print n, said[n] }' driver.log
}
again() {
	drive "$@" >again.log 2>&1
	cat again.log >>driver.log
}

suite_main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# GNU make: its driver is a Perl program, each of whose scripts makes many runs.

. "$(dirname "$0")/lib.sh"

name=make
package=make-dfsg
elf=make
minimum=100

build() {
	# A machine that is busy needs more than the 5 seconds that it has for each run.
	sed -i 's/test_timeout = 5;/test_timeout = 120;/' tests/*.pl
	autoreconf -fi
	./configure --disable-nls --with-guile=no CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	make -j2
}
drive() {
	# What an outer make hands down is not for the one that is tested.
	(cd tests && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS perl ./run_make_tests.pl -srcdir "$OLDPWD" -make ../make "$@")
}
suite() {
	drive >driver.log 2>&1
	cat driver.log
}
# Of a script as much counts as the driver says: how many of its runs were right. What it has to say comes between the name and that.
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

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a version control system that prints the history of a small repository with all
# changes.

. "$(dirname "$0")/../lib.sh"

name=git
package=git
elf=git
input="history"
command='export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1; rm -rf repository && $prog init -q repository'
command="$command"' && $prog -C repository fast-import --quiet <"$inputs/history"'
command="$command"' && "$prog" -C repository log -p -M -C --stat main'

# Prints a history of 1,200 commits for git fast-import.
commits() {
	awk 'function line(i) { return "line " i " says " (i * 7919) % 10007 " and " (i * i) % 97 }
	function change(c, at,    i, text) {
		for (i = 0; i < 150; i++)
			text = text line(at * 1000 + i + (i % 9 == c % 9 ? c : 0)) "\n"
		print "M 100644 inline directory" at % 7 "/file" at (c % 50 == 49 ? ".new" : "")
		print "data " length(text) "\n" text
	}
	BEGIN {
		for (c = 0; c < 1200; c++) {
			message = "Change number " c "\n"
			print "commit refs/heads/main"
			time = 1600000000 + c * 1000
			print "committer A U Thor <author@example.com> " time " +0000"
			print "data " length(message) "\n" message
			for (f = 0; f < 3; f++) change(c, (c * 31 + f * 7) % 60)
		}
	}'
}
input_history() { make_once history commits; }

build() {
	make -j2 NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PERL=1 NO_PYTHON=1 \
		CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld" git
}

program_main "$@"

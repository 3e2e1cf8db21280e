# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Compares the contexts of a recording with an expression.  Source it after tests/lib.sh.

# pattern_of EXPRESSION: an extended regular expression for lines of the format folded
pattern_of() {
	awk -v e="$1" 'BEGIN {
		n = split(e, word, " ")
		for (i = n; i; i--) {
			gsub(/\*/, "[^;]*", word[i])
			p = p (word[i] == "<" ? ";" : word[i] == "<<" ? ";(.*;)?" : word[i])
		}
		print "(^|;)" p "(;| [0-9]+$)"
	}'
}
contexts() { pcce-report -q -i "$1" --no-inline --format=folded 2>/dev/null | sort; }
# The faults that the program makes on purpose.
faults_of() { contexts "$1" | grep ';touch [0-9]*$'; }
sum() { awk '{ n += $NF } END { print n + 0 }'; }

# every_context_matches NAME DATA EXPRESSION: those that do not are marked
every_context_matches() {
	contexts "$2" >contexts.out
	is "$1: no other context" "$(grep -Ev -e "$(pattern_of "$3")" contexts.out |
		grep -Ev '\[(truncated|undecodable)' | cut -c 1-200 | head -n 5)" ""
}

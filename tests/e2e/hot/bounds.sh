# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Compares the contexts of a summary with those of a recording that has all samples or calls.
# Source it after tests/lib.sh.

# counts DATA [OPTION...]: prints a line for each context: weight, error, path.  A path is made of
# names and addresses of calls.  Lines in the innermost function and inlined functions in it are
# unknown in a summary.
counts() {
	pcce-report -q -i "$@" --format=json --no-inline --origins 2>/dev/null | awk '
		/^[{]"id":/ {
			id = parent = name = call = ""
			if (match($0, /"id":[0-9]+/)) id = substr($0, RSTART + 5, RLENGTH - 5)
			if (match($0, /"parent":[0-9]+/)) parent = substr($0, RSTART + 9, RLENGTH - 9)
			if (match($0, /"name":"([^"\\]|\\.)*"/)) name = substr($0, RSTART + 8, RLENGTH - 9)
			if (match($0, /"call":[0-9]+/)) call = substr($0, RSTART + 7, RLENGTH - 7)
			if (match($0, /"repeat":[0-9]+/)) call = call "*" substr($0, RSTART + 9, RLENGTH - 9)
			if (match($0, /"self":[0-9]+/)) self = substr($0, RSTART + 7, RLENGTH - 7)
			error = 0
			if (match($0, /"error":[0-9]+/)) error = substr($0, RSTART + 8, RLENGTH - 8)
			path[id] = (parent == "" ? "" : path[parent]) ";" name "@" call
			weight[path[id]] += self
			most[path[id]] += error
			if (name == "[cold]") cold[path[id]] = 1
		}
		END {
			for (p in weight)
				if (weight[p] || most[p]) print weight[p], most[p], (p in cold) ? "[cold]" : p
		}'
}

# bounds_hold NAME EXACT SUMMARY PHI: compares the outputs of counts, and prints what is wrong
# bounds_hold NAME EXACT SUMMARY thread OFFSET: the same for one thread of a whole summary
bounds_hold() {
	local name=$1 wrong
	wrong=$(awk -v phi="$4" -v offset="${5-}" '
		# Several functions without names, of one module, have one path.
		function unnamed(path) { return path ~ /;\[[^;]*$/ }
		{ weight = $1; error = $2; sub(/^[0-9]+ [0-9]+ /, "") }
		NR == FNR { exact[$0] = weight; n += weight; next }
		{ all += weight }
		$0 == "[cold]" { next }
		{
			seen[$0] = 1
			if (exact[$0] < weight || (!unnamed($0) && exact[$0] > weight + error))
				print "not " weight " to " weight + error " but " exact[$0] + 0 ": " $0
		}
		END {
			least = phi == "thread" ? offset + 1 : int(phi * n)
			least += !least
			for (p in exact)
				if (exact[p] >= least && !(p in seen) && !unnamed(p))
					print "missing, with " exact[p] ": " p
			if (phi != "thread" && all != n) print "N is " all ", not " n
			if (n < 50) print "there are " n " samples"
		}' "$2" "$3" | head -n 5)
	is "$name" "$wrong" ""
}

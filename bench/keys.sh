#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what a key of the calling context costs a program that asks for it: ns a key at several
# depths of calls, beside hashes of return addresses by frame pointers, backtrace(3) and libunwind.
#
#   bench/keys.sh
#     DEPTHS="10 100 1000"    depths of calls
#     RUNS=3                  the table has the least of the runs

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
: "${DEPTHS:=10 100 1000}" "${RUNS:=3}"
programs="own plain"
if pkg-config --exists libunwind; then programs="$programs unwind"; else
	echo "no libunwind: its row is left out"
fi
flags="-O2 -g -fno-optimize-sibling-calls"
# shellcheck disable=SC2046,SC2086 # lists of flags
$CC $flags -fno-omit-frame-pointer "$top/bench/keys.c" -o plain &&
	{ [[ $programs != *unwind* ]] ||
		$CC $flags -DWITH_UNWIND "$top/bench/keys.c" -o unwind -lunwind; } &&
	$CC $flags -DWITH_PCCE -I"$top/userlib" -I"$top/include" $(pcce-config --cflags) \
		"$top/bench/keys.c" $(pcce-config --ldflags) -o own || exit 1
for ((i = 0; i < RUNS; i++)); do
	for program in $programs; do
		# shellcheck disable=SC2086 # a list
		./"$program" $DEPTHS || exit 1
	done
done | awk -v depths="$DEPTHS" '
	!($1 in seen) { seen[$1]; way[n++] = $1 }
	!(($1, $2) in least) || $3 < least[$1, $2] { least[$1, $2] = $3 }
	END {
		printf "%-16s", "ns a key"
		for (k = 1; k <= split(depths, depth); k++) printf "%12s", depth[k]
		print ""
		for (i = 0; i < n; i++) {
			printf "%-16s", way[i]
			for (k = 1; k in depth; k++) printf "%12.1f", least[way[i], depth[k]]
			print ""
		}
	}'
describe_machine

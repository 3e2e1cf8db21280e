#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what recording an allocation costs: ns of CPU time for an allocation, its free() and the
# work between them, the least of RUNS runs in turn, beside heaptrack.

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
runs=${RUNS:-7}
$CC -O2 -g "$top/bench/allocations.c" -o plain || exit 1
# shellcheck disable=SC2046 # several flags
$CC -O2 -g $(pcce-config --cflags) "$top/bench/allocations.c" -o own $(pcce-config --ldflags) ||
	exit 1
hook=$out/lib/pcce/libpcce-malloc.so
run() { # HOW KIND ROUNDS
	case $1 in
	plain) ./plain "$2" "$3" ;;
	instrumented) ./own "$2" "$3" ;;
	hook) LD_PRELOAD=$hook ./plain "$2" "$3" ;;
	sampled) pcce-record -q -e malloc=512k -o r.data ./own "$2" "$3" ;;
	every) pcce-record -q -e malloc -o r.data ./own "$2" "$3" ;;
	heaptrack) heaptrack -r -o r.heaptrack ./plain "$2" "$3" | grep -E '^[0-9.]+$' ;;
	esac
}
ways="plain instrumented hook sampled every"
if command -v heaptrack >/dev/null; then ways="$ways heaptrack"; else
	echo "no heaptrack: its rows are left out"
fi
for kind in ${KINDS:-few tight tree}; do
	rounds=1000000
	[ $kind != few ] || rounds=200000
	for ((i = 0; i < runs; i++)); do
		for how in $ways; do
			echo "$how $(run "$how" $kind $rounds)"
		done
	done | awk -v kind=$kind -v ways="$ways" '
		!($1 in least) || $2 < least[$1] { least[$1] = $2 }
		END {
			n = split(ways, way)
			for (i = 1; i <= n; i++)
				printf "%-6s %-13s %9.1f ns %6.2f\n", kind, way[i], least[way[i]],
					least[way[i]] / least["instrumented"]
		}'
done

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What instrumentation costs while nobody looks: user CPU time of each real program built
# with pcce over that of the same program without, both at -O2, unsampled.  The last line is
# the geometric mean.
#
#   bench/overhead.sh [PROGRAM...]      BLOCKS=12: blocks of four runs for each

. "$(dirname "$0")/lib.sh"
: "${BLOCKS:=12}"
programs=("$@")
[ ${#programs[@]} != 0 ] || programs=(lua sqlite gzip bzip2 grep diff make mawk find tar)

compile_tool ratio
printf '%-10s %7s  %s\n' program ratio '95% interval, seconds without'
for p in "${programs[@]}"; do
	a=$(bash "$top/tests/programs/$p.sh" --command plain) && b=$(bash "$top/tests/programs/$p.sh" --command pcce) ||
		{ echo "overhead: $p was not built (see build/programs/$p-*.log)" >&2; exit 1; }
	read -r ratio low high seconds < <("$out/bench/ratio" "$BLOCKS" "$a" "$b") || exit 1
	printf '%-10s %7.3f  [%.3f, %.3f]  %.2f s\n' "$p" "$ratio" "$low" "$high" "$seconds"
	ratios+=("$ratio")
done
printf '%s\n' "${ratios[@]}" | awk '{ s += log($1) } END { printf "%-10s %7.3f\n", "geo. mean", exp(s / NR) }'

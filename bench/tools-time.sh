#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures the time of the tools: pcce-encode for SQLite's shell, and pcce-report for a recording,
# scaled to 1,000,000 samples.  Each line has the work and the seconds (median of five runs).

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

seconds() { # COMMAND...: median of five
	local i
	for i in 1 2 3 4 5; do
		[ -z "${before-}" ] || eval "$before"
		TIMEFORMAT=%R
		{ time "$@" >out.log 2>&1 || echo failed >&2; } 2>&1
	done | sort -n | sed -n 3p
}

# Encoding needs a file that is linked but not encoded.
bash "$top/tests/programs/sqlite.sh" --build || exit 1
sqlite=$out/programs/sqlite-pcce
(
	# shellcheck disable=SC2046 # several flags
	cd "$sqlite" && rm -f unencoded &&
		$CC -O2 -g $(pcce-config --cflags) -DSQLITE_THREADSAFE=1 shell.c sqlite3.c \
			-lm -ldl -lpthread -o unencoded -Wl,-u,__pcce_push "$out/lib/pcce/libpcce.a"
) >build.log 2>&1 || { cat build.log >&2; exit 1; }
before='cp "$sqlite/unencoded" u'
size=$(stat -c %s "$sqlite/unencoded")
printf '%-46s %s s\n' "pcce-encode, SQLite ($size bytes)" "$(seconds pcce-encode u)"
unset before

# One long recording at a high rate.
command=$(bash "$top/tests/programs/lua.sh" --command pcce)
pcce-record -q -b bpf -F 20000 -o lua.data -- \
	sh -c "for i in $(seq -s ' ' 30); do $command; done" >/dev/null || exit 1
n=$(stat_of lua.data samples)
t=$(seconds pcce-report -i lua.data --format=tree)
printf '%-46s %s s\n' "pcce-report --format=tree, $n samples" "$t"
awk -v t="$t" -v n="$n" 'BEGIN { printf "%-46s %.2f s\n", "  for 1,000,000", t * 1000000 / n }'

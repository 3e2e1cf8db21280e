# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Shared by the benchmarks: the functions of tests/lib.sh, building of C tools, and a description
# of the machine.

. "$(dirname "${BASH_SOURCE[0]}")/../tests/lib.sh"

compile_tool() { # NAME [LIBRARY...]: bench/NAME.c -> $out/bench/NAME
	local name=$1
	shift
	mkdir -p "$out/bench"
	[ "$out/bench/$name" -nt "$top/bench/$name.c" ] ||
		$CC -std=gnu11 -O2 -g -Wall -Wextra -I"$top/include" \
			-o "$out/bench/$name" "$top/bench/$name.c" "$@" || exit 1
}

# Prints the machine, the system and the load.
describe_machine() {
	local governor=/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor model memory stolen
	governor=$(cat "$governor" 2>/dev/null || echo "not visible")
	model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
	memory=$(awk '/^MemTotal/ { print int($2 / 1048576 + 0.5) " GiB" }' /proc/meminfo)
	stolen=$(awk '/^cpu / {
		printf "%.1f%%", 100 * $9 / ($2 + $3 + $4 + $5 + $6 + $7 + $8 + $9)
	}' /proc/stat)
	echo "machine: $model, $(nproc) CPUs, $memory; frequency governor: $governor"
	echo "system: $(. /etc/os-release && echo "$PRETTY_NAME"), kernel $(uname -r);" \
		"$($CC --version | head -n 1); $(ld.lld --version 2>/dev/null | head -n 1);" \
		"pcce $(cat "$top/VERSION")"
	echo "load when done (1, 5, 15 minutes): $(cut -d ' ' -f 1-3 /proc/loadavg);" \
		"stolen time since boot: $stolen"
}

# time_recorders WORD [UNIT]: calls `run RECORDER` for each of $recorders, ROUNDS times by turns.
# It prints the least and the median of what a run says in a line "WORD NUMBER".
time_recorders() {
	local i recorder
	for ((i = 0; i < ROUNDS; i++)); do
		for recorder in $recorders; do
			if ! run "$recorder" >"log.$recorder" 2>&1; then
				cat "log.$recorder" >&2
				exit 1
			fi
			sed -n "s/^$1 //p" "log.$recorder" >>"ns.$recorder"
		done
	done
	printf '%-10s %8s %8s%s\n' recorder least median "${2:+  $2}"
	for recorder in $recorders; do
		sort -n "ns.$recorder" | awk -v recorder="$recorder" '{ v[NR] = $1 }
			END { printf "%-10s %8d %8d\n", recorder, v[1], v[int((NR + 1) / 2)] }'
	done
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Counts the instructions of programs without pcce, with the basic encoding, and with hybrid
# encoding.
#
# All three builds have the plugin's limits for inlining.  The basic one has its own, smaller slots.
# With hybrid encoding it also verifies contexts.
#
#   bench/papers/hybrid.sh [PROGRAM...]
#
# Prints a row for each program, and keeps it in build/bench/hybrid-instructions.

. "$(dirname "$0")/../programs.sh"
programs=("$@")
[ ${#programs[@]} != 0 ] || mapfile -t programs < <(all_programs)
rows=$out/bench/hybrid-instructions
mkdir -p "$rows"
flags="-O2 -g -fcommon -w"
cflags="$flags $(pcce-config --cflags)"
ldflags=$(pcce-config --ldflags)
failed=0

run() { # PREFIX...: the program's work
	(cd "$scratch" && sh -c "${command/"\"$elf\""/"$* \"$elf\""}") \
		>"$scratch/out" 2>"$scratch/err"
}

instructions() {
	run valgrind -q --tool=cachegrind --cache-sim=no \
		--cachegrind-out-file="$scratch/counts" || {
		echo "hybrid: the work of $elf fails" >&2
		return 1
	}
	awk '/^summary:/ { print $2 }' "$scratch/counts"
}

dump() { # KEY
	pcce-encode --dump "$elf" | sed -n "s/^$1: //p"
}

measure() { # PROGRAM
	local p=$1 inlined basic hybrid size verified wrong
	build "$p" inlined "$flags $inlining_limits" "" && inlined=$(instructions) &&
		size=$(text_size "$elf") || return 1
	build "$p" basic "$cflags" "$ldflags" && basic=$(instructions) &&
		size="$size $(text_size "$elf")" || return 1
	build "$p" hybrid "$cflags -fplugin-arg-pcce_plugin-hybrid" "$ldflags" &&
		pcce-encode --hybrid "$elf" && hybrid=$(instructions) &&
		size="$size $(text_size "$elf")" || return 1
	run pcce-record -q -b self -F 2000 --verify -o "$scratch/data" -- || return 1
	pcce-report -q -i "$scratch/data" --stats >"$scratch/stats" || return 1
	verified=$(sed -n 's/^verified: //p' "$scratch/stats")
	wrong=$(sed -n 's/^mismatches: //p' "$scratch/stats")
	# shellcheck disable=SC2086 # a list of sizes
	set -- $size
	awk -v p="$p" -v a="$inlined" -v b="$basic" -v c="$hybrid" -v s="$1" -v t="$2" -v u="$3" \
		-v adds="$(dump 'added edges')" -v guards="$(dump 'guarded additions')" \
		-v none="$(dump 'zero edges')" -v contexts="$(dump 'implicit contexts')" \
		-v v="$verified" -v w="$wrong" 'BEGIN {
		printf "| %s | %.3f | %.3f | %.2f | %.2f |", p, b / a, c / a, t / s, u / s
		printf " %d | %d | %d | %d |", none, adds - guards, guards, contexts
		printf " %d | %d |\n", v, w
	}'
}

echo "| program | basic | hybrid | .text, basic | hybrid | nothing | adds | guarded |" \
	"implicit contexts | verified | wrong |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for p in "${programs[@]}"; do
	if measure "$p" >"$scratch/row"; then
		mv "$scratch/row" "$rows/$p"
		cat "$rows/$p"
	else
		failed=1
	fi
done
exit $failed

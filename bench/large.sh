#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures what large programs and libraries execute for pcce, by counting instructions: no figure
# depends on how busy the machine is.  The programs are those of bench/programs/large, to which
# nobody tunes.
#
#   bench/large.sh [PROGRAM[:WORK]...]     WORK: see PROGRAM's script
#
# Builds: `plain` is -O2 without pcce, `inlined` has the plugin's limits for inlining in addition,
# `encoded` has pcce's flags.  `profiled` is encoded with a recording of one run of the same work at
# 4,000 Hz (pcce-encode --profile).  If a program has a library, the library is measured: its sites,
# its slots and its .text.  Instructions over plain and inlined are those of the whole process.
#
# cachegrind counts the instructions, those of encoded callgrind.  callgrind counts each instruction
# separately, so bench/large/slots.c can tell how often each call site ran.
#
# Tables go to the terminal, and all numbers to build/bench/large/: PROGRAM.csv as slots.c prints
# them, large.csv with the rest.

. "$(dirname "$0")/programs.sh"
programs=("$@")
[ ${#programs[@]} != 0 ] ||
	programs=(python libpython postgresql:joins postgresql:updates perl git openssl)
compile_tool own
results=$out/bench/large
mkdir -p "$results"
failed=0

# run_with COMMAND: runs the workload of the last build, its program as arguments of the command.
run_with() {
	local line=${command/"\"$elf\""/"$1 \"$elf\""}
	(cd "$scratch" && sh -c "$line") >"$scratch/got" 2>"$scratch/err" || {
		echo "large: cannot run $elf:" >&2
		tail -n 5 "$scratch/err" >&2
		return 1
	}
	[ -e "$scratch/want" ] || mv "$scratch/got" "$scratch/want"
	[ ! -e "$scratch/got" ] || cmp -s "$scratch/got" "$scratch/want" || {
		echo "large: cannot measure $elf: its output is not that of plain" >&2
		return 1
	}
}

# run_under TOOL OPTION...: runs it under valgrind.  Sets instructions.
run_under() {
	rm -f "$scratch/profile"
	run_with "setarch -R valgrind -q --log-file=$scratch/log --tool=$* \
		--$1-out-file=$scratch/profile" || return 1
	instructions=$(sed -n 's/^summary: *//p' "$scratch/profile")
}

# encode_seconds FILE: takes the least time of three runs, because other work on the machine can
# only add to it.
encode_seconds() {
	local i
	rm -f "$scratch/time"
	for i in 1 2 3; do
		"$out/bench/own" "$scratch/time" "$out/bin/pcce-encode" \
			-o "$scratch/encoded" "$1" || return 1
	done
	sort -n "$scratch/time" | head -n 1
}

dumped() { sed -n "s/^$1: *//p" "$scratch/dump"; }

# run_profiled: counts the instructions of the last build, encoded with a recording of its work.
run_profiled() {
	run_with "pcce-record -q -b self -F 4000 -o $scratch/prof.data --" &&
		pcce-encode -p "$scratch/prof.data" -o "$scratch/encoded" "$measured.raw" &&
		mv "$measured" "$measured.saved" && cp "$scratch/encoded" "$measured" &&
		chmod +x "$measured" || return 1
	run_under cachegrind --cache-sim=no
	local status=$?
	mv "$measured.saved" "$measured"
	return $status
}

# measure_program PROGRAM ROW
measure_program() {
	local p=$1 row=$2 plain inlined encoded seconds text
	rm -f "$scratch/want"
	build "$p" plain "" "" && run_under cachegrind --cache-sim=no || return 1
	plain=$instructions text=$(text_size "$measured")
	build "$p" large-inlined "-O2 -g $inlining_limits" "" &&
		run_under cachegrind --cache-sim=no || return 1
	inlined=$instructions
	BENCH_LD_COPY=raw build "$p" pcce "" "" || return 1
	[ -e "$measured.raw" ] || {
		echo "large: cannot measure $p: a test built it, without $measured.raw;" \
			"remove $directory" >&2
		return 1
	}
	is_encoded "$measured" &&
		run_under callgrind --dump-instr=yes --skip-plt=no --compress-pos=no \
			--compress-strings=no &&
		"$out/bench/slots" "$measured.raw" "$scratch/profile" "$measured" \
			>"$scratch/slots" &&
		pcce-encode --dump "$measured.raw" >"$scratch/dump" &&
		seconds=$(encode_seconds "$measured.raw") || return 1
	encoded=$instructions
	run_profiled || return 1
	{
		echo "kind,sites,by_helper,calls,calls_by_helper,instructions"
		cat "$scratch/slots"
	} >"$results/slots-$row.csv"
	echo "$row,$(dumped functions),$(dumped sites),$(dumped 'edges cut')," \
		"$(dumped 'largest id'),$seconds,$text,$(text_size "$measured"),$plain,$inlined," \
		"$encoded,$instructions" | tr -d ' ' >"$results/row-$row.csv"
}

for p in "${programs[@]}"; do
	export WORK=
	[[ $p != *:* ]] || WORK=${p#*:}
	measure_program "${p%:*}" "${p/:/-}" || {
		echo "large: cannot measure $p; see above" >&2
		failed=1
	}
done
# The tables have all programs that were measured, in this run or before.
{
	printf '%s,' program functions sites edges_cut largest_id encode_seconds text_plain
	echo "text_encoded,plain,inlined,encoded,profiled"
	cat "$results"/row-*.csv
} >"$results/large.csv" || exit 1

echo "in the file: pushes by kind (bench/large/slots.c), those by helper, seconds of pcce-encode"
for_each_program() { # AWK-PROGRAM: runs it on the slots of each program, after its row
	local row
	while IFS= read -r row; do
		awk -F , -v row="$row" '
			BEGIN { split(row, r, ",") }
			function ratio(a, b) { return b ? a / b : 0 }
			function percent(x) { return 100 * ratio(x, calls) }
			NR > 1 {
				sites[$1] = $2; ran[$1] = $4; instructions[$1] = $6
				if ($1 ~ /^(entries|runtime|all)$|-[0-9]+$/) next
				calls += $4
				if ($1 ~ /^(zero|add|add-beyond|ext)$/) next
				pushes += $2; helpers += $3
				pushed += $4; helped += $5; cost += $6
			}
			END { '"$1"' }' "$results/slots-${row%%,*}.csv"
	done < <(tail -n +2 "$results/large.csv")
}
format="%-18s %8s %7s %7s %8s %7s %6s %8s %8s %7s %7s %12s %6s"
# shellcheck disable=SC2059
printf "$format\n" program sites pushes pointer tail-out cut cycle exported outside helper \
	"cut edges" "largest id" s
for_each_program '
	printf "'"$format"'\n", r[1], r[3], pushes, sites["pointer"], sites["tail-out"],
		sites["cut"], sites["cycle"], sites["exported"], sites["outside"], helpers, r[4],
		r[5], r[6]'
echo
echo "executed, in % of all calls; cut, beyond N: if ids had N bits, without anchors"
format="%-18s %12s %7s %7s %8s %6s %6s %8s %7s %7s %6s %6s %7s %7s %9s"
# shellcheck disable=SC2059
printf "$format\n" program calls pushes pointer tail-out cut cycle exported outside helper add \
	beyond "cut 31" "cut 62" "beyond 62"
for_each_program '
	split("pointer tail-out cut cycle exported outside", kind, " ")
	printf "%-18s %12d %7.1f", r[1], calls, percent(pushed)
	for (k = 1; k <= 6; k++)
		printf " %" (k == 2 || k == 5 ? 8 : k == 3 || k == 4 ? 6 : 7) ".2f",
			percent(ran[kind[k]])
	printf " %7.1f %6.1f %6.2f %7.2f %7.2f %9.2f\n", percent(helped),
		percent(ran["add"]), percent(ran["add-beyond"]), percent(ran["cut-31"]),
		percent(ran["cut-62"]), percent(ran["add-beyond-62"])'
echo
echo "instructions (millions) and size of .text; push: slots of pushes and the runtime, entry:"
echo "entry slots, add: additions and ext; each in % of inlined"
echo "the last two columns: profiled over plain and inlined"
format="%-18s %8s %8s %8s %9s %9s %6s %6s %6s %6s %9s %9s"
# shellcheck disable=SC2059
printf "$format\n" program plain inlined encoded /plain /inlined push entry add .text \
	"p./plain" "p./inl."
for_each_program '
	printf "%-18s %8.0f %8.0f %8.0f %9.3f %9.3f %6.1f %6.1f %6.1f %6.2f %9.3f %9.3f\n", r[1],
		r[9] / 1e6, r[10] / 1e6, r[11] / 1e6, ratio(r[11], r[9]), ratio(r[11], r[10]),
		100 * ratio(cost + instructions["runtime"], r[10]),
		100 * ratio(instructions["entries"], r[10]),
		100 * ratio(instructions["add"] + instructions["add-beyond"] + \
			instructions["ext"], r[10]),
		ratio(r[8], r[7]), ratio(r[12], r[9]), ratio(r[12], r[10])'
echo
describe_machine | tee "$results/machine.txt"
exit $failed

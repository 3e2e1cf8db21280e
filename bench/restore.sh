#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measures the restoration of frames (pcce-record --frames), incremental against full unwinding, and
# beside libunwind, elfutils and perf's copies of the stack (dwarf).  Needs root.
#
#   bench/restore.sh [PROGRAM...]
#     DEPTHS="10 100 1000 10000"   call depths of the first table
#     HZ=999                       rate of the second table and the third one
#     WINDOW=10                    seconds of the third table
#
# The first table is that of one program (restore/walk.c), whose stack changes a little or much
# between two requests.  The second one has real programs: those with the plugin, whose libraries
# are not instrumented (foreign), and those without the plugin (all).
#
# Columns of the second table:
#   samples    of them, with restored frames, in part, and failed in %
#   wrong      samples whose frames contradict the decoded context
#   reused     of the restored frames: those that were the same as before, in %
#   saved      of all frames of all samples: those that were not unwound, in %.  The encoding has
#              them, or they were the same as before.
#   same       all: of the restored frames, those that the thread's sample before had, too, from the
#              outermost one on, in %.  No more can be reused.
#   bytes      of stack that the kernel brought, for each sample
#   us         CPU time of the recorder for each sample
#   perf       bytes and CPU time of perf for each sample, to record with 8 KB of stack and to
#              unwind it (perf script)
#
# The third one is the CPU time of the recorder alone, for each sample, while a program runs that is
# not instrumented: Debian's python3 and a recursion of 1,000 frames (restore/recurse.c).  The start
# of the recorder is left out.
#   none       pcce-record --frames=none
#   full       pcce-record: whole stacks, each unwound as a whole
#   reuse      the same, built with RESTORE=1
#   perf       perf record --call-graph dwarf, which only writes 8 KB of stack; script: perf script,
#              which unwinds them
#
# Results in build/bench/restore: depths.csv, programs.csv, recorder.csv.

. "$(dirname "$0")/programs.sh"
: "${DEPTHS:=10 100 1000 10000}" "${HZ:=999}" "${WINDOW:=10}"
[ "$(id -u)" = 0 ] || { echo "restore: cannot use BPF: not root; run with sudo" >&2; exit 1; }
has_bpf || { echo "restore: cannot record with BPF: $bpf_reason" >&2; exit 1; }
programs=("$@")
[ ${#programs[@]} != 0 ] || mapfile -t programs < <(all_programs)
results=$out/bench/restore
recorder=$out/tests/pcce-record # built with RESTORE=1
failed=0
mkdir -p "$results"
compile_tool own

echo "One request, by call depth: frames that are unwound, and time in us"
echo "depth,changed,frames,incremental,full,incremental_ns,full_ns,libunwind_ns,elfutils_ns" \
	>"$results/depths.csv"
printf '%8s %8s %8s | %11s %8s | %11s %8s %9s %8s\n' depth changed frames incremental full \
	incremental full libunwind elfutils
for depth in $DEPTHS; do
	for changed in 4 $((depth / 2)) "$depth"; do
		"$out/bench/walk" "$depth" "$changed" $((200000 / depth + 50)) >"$scratch/line" || {
			failed=1
			continue
		}
		tee -a "$results/depths.csv" <"$scratch/line" | awk -F , '{
			printf "%8d %8d %8d | %11.1f %8.1f | %11.1f %8.1f %9.1f %8.1f\n",
				$1, $2, $3, $4, $5, $6 / 1e3, $7 / 1e3, $8 / 1e3, $9 / 1e3 }'
	done
done
echo

# other_time COMMAND...: runs COMMAND, and prints the CPU time in seconds that it took without that
# of the program that `own` ran.
other_time() {
	rm -f "$scratch/own"
	/usr/bin/time -f '%U %S' -o "$scratch/time" "$@" >/dev/null 2>"$scratch/err" || {
		tail -n 3 "$scratch/err" >&2
		return 1
	}
	echo "$(cat "$scratch/time") $(cat "$scratch/own" 2>/dev/null)" |
		awk '{ t = $1 + $2 - $3; printf "%.6f", (t > 0 ? t : 0) }'
}

# shell_line PREFIX...: the program's workload, with a prefix.
shell_line() { echo "cd $scratch && ${command/"\"$elf\""/"$* \"$elf\""}"; }

# same_frames DATA: of the frames of uninstrumented stacks, those of the thread's sample before.  A
# frame is a return address: all but the innermost address.
same_frames() {
	pcce-report -q -i "$1" --format=perf-script --no-inline | awk '
		/^[^\t]/ { thread = $2; n = 0; next }
		/^$/ {
			for (same = 0; same < n - 1 && same < last[thread] - 1; same++)
				if (line[n - same] != before[thread, last[thread] - same])
					break
			for (i = 1; i <= n; i++)
				before[thread, i] = line[i]
			last[thread] = n
			frames += n > 1 ? n - 1 : 0
			all += same
			next
		}
		$1 != 0 { line[++n] = $1 $NF }
		END { printf "%.1f", frames ? 100 * all / frames : 0 }'
}

# measure PROGRAM FRAMES
measure() {
	local p=$1 frames=$2 ours peer script samples depths stats=$scratch/stats data=$scratch/data
	local same=0
	local variant=pcce
	[ "$frames" = foreign ] || variant=plain
	build "$p" $variant "" "" || return 1
	ours=$(other_time sh -c "$(shell_line "$recorder" -q -b bpf -F "$HZ" --frames="$frames" \
		-o "$data" -- "$out/bench/own" "$scratch/own")") &&
		pcce-report -i "$data" --stats >"$stats" || return 1
	depths=$(pcce-report -q -i "$data" --format=folded --no-inline |
		awk '{ sum += $NF * gsub(/;/, ";") + $NF } END { print sum + 0 }')
	[ "$frames" = foreign ] || same=$(same_frames "$data") || return 1
	peer=$(other_time sh -c "$(shell_line perf record -q -F "$HZ" -e cpu-clock:u \
		--call-graph dwarf -o "$data" -- "$out/bench/own" "$scratch/own")") || return 1
	samples=$(perf report -i "$data" --stats 2>/dev/null | sed -n 's/.*SAMPLE events: *//p' |
		head -n 1)
	script=$(other_time perf script -i "$data" -F ip) || return 1
	awk -F '[: ]+' -v p="$p" -v f="$frames" -v ours="$ours" -v size="$(stat -c %s "$data")" \
		-v n="$samples" -v depths="$depths" -v peer="$peer" -v script="$script" \
		-v same="$same" -v OFS=, '
		{ v[$1] = $2 }
		END {
			all = v["restored"] + v["restored_in_part"] + v["not_restored"]
			unwound = v["frames_unwound"] + v["frames_reused"]
			print p, f, v["samples"], v["restored"], v["restored_in_part"],
				v["not_restored"], v["restored_wrong"],
				unwound ? 100 * v["frames_reused"] / unwound : 0,
				depths ? 100 - 100 * v["frames_unwound"] / depths : 0,
				v["samples"] ? v["stack_bytes"] / v["samples"] : 0,
				v["samples"] ? 1e6 * ours / v["samples"] : 0,
				n ? size / n : 0, n ? 1e6 * peer / n : 0, n ? 1e6 * script / n : 0,
				same
		}' "$stats" >>"$results/programs.csv"
	tail -n 1 "$results/programs.csv" | awk -F , '{
		all = $4 + $5 + $6
		printf "%-10s %-8s %8d %9.1f %7.1f %7.1f %6d %7.1f %7.1f %7s %8.0f %6.0f",
			$1, $2, $3, all ? 100 * $4 / all : 0, all ? 100 * $5 / all : 0,
			all ? 100 * $6 / all : 0, $7, $8, $9, $2 == "all" ? $15 : "-", $10, $11
		printf " | %6.0f %6.0f %6.0f\n", $12, $13, $14 }'
}

columns=program,frames,samples,restored,in_part,failed,wrong,reused,saved,bytes,us
echo "$columns,perf_bytes,perf_us,script_us,same" >"$results/programs.csv"
echo "Real programs at $HZ Hz"
printf '%-10s %-8s %8s %9s %7s %7s %6s %7s %7s %7s %8s %6s | %6s %6s %6s\n' program frames samples \
	'restored%' 'part%' 'failed%' wrong 'reused%' 'saved%' 'same%' bytes us perf us script
for p in "${programs[@]}"; do
	for frames in foreign all; do
		measure "$p" $frames || {
			echo "restore: cannot measure $p with --frames=$frames: see above" >&2
			failed=1
		}
	done
done
echo
awk -F , 'NR > 1 { n[$2]++; saved[$2] += $9; reused[$2] += $8; same[$2] += $15
		samples[$2] += $3; bytes[$2] += $10 * $3 }
	END {
		for (f in n)
			printf "%s: saved %.1f%%, reused %.1f%%, same %.1f%% (means), %.0f bytes\n",
				f, saved[f] / n[f], reused[f] / n[f], same[f] / n[f],
				bytes[f] / samples[f]
	}' "$results/programs.csv"

# cpu_ns PID: the CPU time of a process so far
cpu_ns() { awk '{ sum += $1 } END { print sum }' /proc/"$1"/task/*/schedstat; }

# recorder_us RECORDER...: prints the CPU time of the recorder for each sample, at SAMPLES a second
recorder_us() {
	local recorder before after
	"$@" -- "${running[@]}" >"$scratch/out" 2>&1 &
	recorder=$!
	sleep 5
	before=$(cpu_ns $recorder)
	sleep "$WINDOW"
	after=$(cpu_ns $recorder)
	wait $recorder
	awk -v ns=$((after - before)) -v n=$((WINDOW * HZ)) 'BEGIN { printf "%.2f", ns / n / 1e3 }'
}

echo
echo "The recorder alone, in us for each sample at $HZ Hz"
echo "program,none,full,reuse,perf,script" >"$results/recorder.csv"
printf '%-10s %8s %8s %8s %8s %8s\n' program none full reuse perf script
$CC -O1 -g "$top/bench/restore/recurse.c" -o "$scratch/recurse"
echo 'while True: sorted([str(i) for i in range(1000)], key=lambda s: s[::-1])' >"$scratch/loop.py"
for program in python3 recurse; do
	running=("$scratch/recurse" 1000)
	[ $program = recurse ] || running=(/usr/bin/python3 "$scratch/loop.py")
	running=(timeout $((WINDOW + 7)) "${running[@]}")
	line=$program
	for how in none full reuse; do
		command=(pcce-record --frames=outside)
		[ $how != none ] || command=(pcce-record --frames=none)
		[ $how != reuse ] || command=("$recorder" --frames=outside)
		line+=,$(recorder_us "${command[@]}" -q -b bpf -F "$HZ" -o "$scratch/data")
	done
	line+=,$(recorder_us perf record -q -F "$HZ" -e cpu-clock:u --call-graph dwarf \
		-o "$scratch/data")
	samples=$(perf report -i "$scratch/data" --stats 2>/dev/null |
		sed -n 's/.*SAMPLE events: *//p' | head -n 1)
	line+=,$(other_time perf script -i "$scratch/data" -F ip |
		awk -v n="$samples" '{ printf "%.2f", 1e6 * $1 / n }')
	echo "$line" >>"$results/recorder.csv"
	echo "$line" | awk -F , '{ printf "%-10s %8s %8s %8s %8s %8s\n", $1, $2, $3, $4, $5, $6 }'
done
describe_machine
exit $failed

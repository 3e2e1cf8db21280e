#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests pcce-record --switch-output.  All windows together must have what one recording of the same
# program has, and each must be complete by itself: pcce-merge reads it alone.

. "$(dirname "$0")/../lib.sh"
sources_in windows

trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT

$CC $cflags -fPIC -shared "$w/plugin.c" $ldflags -o libplugin.so || exit 1
$CC $cflags -pthread "$w/work.c" $ldflags -ldl -o work || exit 1
$CC $cflags -pthread "$top/tests/e2e/store/work.c" $ldflags -o busy || exit 1
run="./work ./libplugin.so 12"

# What a recording says, without the numbers of processes.
shown() { # FILE [OPTION...]
	{
		pcce-report -i "$@" --stats | grep -v ^bytes_per_sample
		pcce-report -i "$@" --format=folded | sort
		pcce-report -i "$@" --format=threads | awk '{ $3 = $4 = ""; print }' | sort
	} 2>&1
}

# windowed OUTPUT OPTION... [-- COMMAND...]: records in windows, and merges them into OUTPUT.data
windowed() {
	local output=$1
	shift
	timeout 300 pcce-record -q --switch-output="${every-100ms}" -o "$output" "$@" 2>"$output.log" >/dev/null ||
		return 1
	pcce-merge -q -o "$output.data" "$output".2????????????????
}

# count_files OUTPUT: how many windows are complete
count_files() {
	local files=("$1".2????????????????)
	[ -e "${files[0]}" ] && echo ${#files[@]} || echo 0
}

# has_files OUTPUT N: waits until as many windows are complete
has_files() {
	local i
	for ((i = 0; i < 1200; i++)); do
		[ "$(count_files "$1")" -lt "$2" ] || return 0
		sleep 0.1
	done
	return 1
}

# adds_up NAME OUTPUT: due, taken and lost of the windows add up to those of the merge
adds_up() {
	local value file sum
	for value in taken due lost merged; do
		sum=0
		for file in "$2".2????????????????; do
			[ "$(stat_of "$file" due)" = "not known" ] && [ $value = due ] && sum= && break
			sum=$((sum + $(stat_of "$file" $value)))
			samples_add_up "$file" || sum=-1000000
		done
		is "$1: $value of all windows" "${sum:-not known}" "$(stat_of "$2.data" $value)"
	done
}

# as_whole NAME OUTPUT OPTION...: windows of the program have what one recording has
as_whole() {
	local name=$1 output=$2
	shift 2
	timeout 300 pcce-record -q -o whole.data "$@" -- $run 2>log || not_ok "$name: in one file" log
	pcce-merge -q -o "$output.whole.data" whole.data
	check "$name: it is recorded" windowed "$output" "$@" -- $run
	shown "$output.whole.data" >wanted
	shown "$output.data" >got
	if [ "$(grep -c ';' wanted)" -gt 4 ] && diff wanted got >diff.log; then ok "$name: the same"; else
		not_ok "$name: the same" diff.log
	fi
	check "$name: in several windows" [ "$(count_files "$output")" -ge 2 ]
	is "$name: all are complete" "$(find . -name "$output.*.part")" ""
	adds_up "$name" "$output"
}

# windows_have OUTPUT TEXT N: at least N windows have it, each by itself
windows_have() {
	local file n=0
	for file in "$1".2????????????????; do
		pcce-report -i "$file" --format=folded 2>/dev/null | grep -q "$2" && n=$((n + 1))
	done
	[ $n -ge "$3" ]
}

# The program counts them, and tells at its end.
as_whole "allocations" malloc -b self -e malloc -c 1
check "self: clock" windowed clock -b self -F 2000 -- ./busy 80
adds_up "self: clock" clock
frequency=2000 recording_is_exact "self: clock" clock.data 20

# ---- BPF -------------------------------------------------------------------------------------

if has_bpf; then
	if [ -e /sys/bus/event_source/devices/uprobe/type ]; then
		as_whole "probe" probe -e uprobe:mark
		check "probe: stacks of earlier windows" windows_have probe deep 2
		as_whole "probe, --only" probe-only -e uprobe:mark --only="mark << deep"
	fi
	check "bpf: clock" windowed cpu -b bpf -F 2000 -- ./busy 80
	adds_up "bpf: clock" cpu
	frequency=2000 recording_is_exact "bpf: clock" cpu.data 20
	check "waits" windowed waits --off-cpu -- $run
	adds_up "waits" waits
	check "waits: below threads of other windows" windows_have waits deep 2
	check "locks" windowed locks -e lock -- $run
	adds_up "locks" locks

	gcc -O1 -fno-inline -x c -o plain - <<-END
		int spin_for_long(volatile int *n) { for (;;) ++*n; }
		int main(void) { volatile int n = 0; return !spin_for_long(&n); }
	END
	./plain &
	plain=$!
	$run >/dev/null &
	pcce-record -q -a -F 99 --switch-output=500ms -o system 2>log &
	recorder=$!
	check "the whole system" has_files system 4
	kill -INT $recorder
	wait $recorder
	is "the whole system: status" $? 0
	kill $plain
	pcce-merge -q -o system.data system.2????????????????
	adds_up "the whole system" system
	check "the whole system: a function without pcce" windows_have system spin_for_long 2
fi

# ---- sizes, refusals, ends -------------------------------------------------------------------

every=20K
check "a size" windowed size -b self -F 2000 -- ./busy 200
check "a size: several files" [ "$(count_files size)" -ge 2 ]
every=100ms

refused() { # NAME TEXT OPTION...
	local name=$1 text=$2 status
	shift 2
	timeout 60 pcce-record "$@" -- true >log 2>&1
	status=$?
	if [ $status = 64 ] && grep -qF -- "$text" log; then ok "$name"; else not_ok "$name" "$status" log; fi
}
for bad in 0 x 5x 10KB -1 1e30 0K 99999999999999999999M; do
	refused "--switch-output=$bad" "cannot use --switch-output=$bad" --switch-output=$bad
done
refused "with --count" "leave out one of them" --switch-output=1 --count
refused "with --hot" "leave out one of them" --switch-output=1 --hot
refused "with --show" "leave out one of them" --switch-output=1 --show

# The folder goes away: the program does not notice, and what was complete is.
mkdir gone
pcce-record -q -b self --switch-output=200ms -o gone/x -- \
	sh -c 'while ! [ -e stop ]; do ./busy 10; done' 2>log &
check "the folder goes away: before" has_files gone/x 2
mv gone went
for ((i = 0; i < 600; i++)); do
	grep -q "cannot create" log && break
	sleep 0.1
done
touch stop
wait $!
is "the folder goes away: status" $? 1
check "the folder goes away: a message" grep -q "cannot create gone/x" log
for file in went/x.2????????????????; do
	is "the folder goes away: ${file##*.} is complete" "$(pcce-report -i "$file" --stats >out 2>&1 &&
		grep incomplete out)" ""
done

# Killed at any moment: earlier windows are whole, and the last one is readable.
killed=0 whole=0
for i in 1 2 3 4 5 6 7 8; do
	pcce-record -q -b self -F 1000 --switch-output=50ms -o "kill$i" -- ./busy 100 2>/dev/null &
	recorder=$!
	while kill -0 $recorder 2>/dev/null && [ "$(count_files kill$i)" = 0 ]; do
		sleep 0.01
	done
	sleep 0.0$((i * 7))
	kill -9 $recorder && killed=$((killed + 1))
	wait $recorder 2>/dev/null
	pkill -9 -x -P 1 busy 2>/dev/null
	sleep 0.5
	for file in "kill$i".2*; do
		pcce-report -i "$file" --stats >out 2>err ||
			grep -q "contains no samples" err || not_ok "killed: $file is readable" err
		case $file in *.part) continue ;; esac
		if grep -q incomplete out; then not_ok "killed: $file is whole" out; else whole=$((whole + 1)); fi
	done
done
check "killed: $killed times, $whole whole windows" [ $killed -gt 0 ] && [ $whole -ge $killed ]
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 600
#
# Shows what runs (pcce-top).  A program (tests/e2e/top/counts.c) makes known numbers of system
# calls in known contexts.  pcce-top must have exactly these, and those of pcce-record.  The view
# runs in a terminal that tmux makes.

. "$(dirname "$0")/../lib.sh"
sources_in top

refused() { # NAME STATUS TEXT OPTION...: pcce-top refuses these options with a sentence
	local name=$1 status=$2 text=$3
	shift 3
	timeout 60 pcce-top "$@" >log 2>&1 </dev/null
	is "$name: status" $? "$status"
	if grep -qF -- "$text" log; then ok "$name"; else not_ok "$name" log; fi
}

refused "no terminal" 64 "use --batch for text"
refused "a command" 64 "cannot run 'true'" -b true
refused "-a with -p" 64 "cannot use -p with -a" -b -a -p 1
refused "-F with -c" 64 "cannot use -F with -c" -b -F 10 -c 10
refused "-n without -b" 64 "without --batch" -n 1
refused "a delay that is no number" 64 "from 0.1 to 3600" -b --delay=soon
refused "a delay that is too short" 64 "from 0.1 to 3600" -b --delay=0
refused "a format that is not there" 64 "cannot use --format=none" -b --format=none
refused "a format of timelines" 64 "cannot use --format=firefox" -b --format=firefox
refused "an empty word in a list" 64 "cannot use -p" -b -p 1,,2
refused "an event that is not there" 1 "no-such-event" -b -e no-such-event
refused "no process has the name" 1 "no process has this command name" -b -p no-such-command
refused "no process has the number" 1 "no such process" -b -p 99999999
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$scratch"
	timeout 60 setpriv --bounding-set=-sys_admin,-bpf,-perfmon pcce-top -b -n 1 >log 2>&1
	is "without privilege: status" $? 1
	check "without privilege: what it needs" grep -q "CAP_BPF and CAP_PERFMON" log
else
	skip "without privilege" "needs root and setpriv"
fi
if ! has_bpf; then
	skip "what runs" "pcce-record cannot use BPF: $bpf_reason"
	done_testing
fi

$CC $cflags -pthread "$w/counts.c" $ldflags -o top-counts && cp top-counts top-other || exit 1
calls=syscalls:sys_enter_getppid
wanted="main;200 deep;call 500
main;left;call 3000
main;right;call 1000
work;left;call 2000"

# add_up FILE: the sums of folded lines, without frames of the C library and the kernel
add_up() {
	sed "s/;call;[^ ]*/;call/" "$1" | awk '{
		n = $NF
		sub(/ [0-9]*$/, "")
		more = match($0, /\[[0-9]+ more of/) ? substr($0, RSTART + 1) + 0 : 0
		sub(/\[[0-9]+ more of the same\];/, "")
		frames = gsub(/deep;/, "") + more
		if (frames)
			sub(/call$/, frames " deep;call")
		sum[$0] += n
	}
	END { for (c in sum) print c, sum[c] }' | grep ";call " | LC_ALL=C sort
}

# until_prints FILE PATTERN: a line of it matches
until_prints() {
	local i
	for ((i = 0; i < 1200; i++)); do
		! grep -q -e "$2" "$1" || return 0
		sleep 0.1
	done
	return 1
}

# show NAME OPTION...: runs the program, with what pcce-top prints in NAME.out
show() {
	local name=$1 program shown
	shift
	rm -f go end
	./top-counts go end &
	program=$!
	until_prints /proc/$program/comm top-counts
	timeout 300 pcce-top -b -e $calls -c 1 --delay=0.3 --format=folded "$@" >"$name.out" 2>"$name.err" &
	shown=$!
	until_prints "$name.out" '^main;ready'
	: >go
	until_prints "$name.out" '^work;left'
	: >end
	wait $program
	[ "$name" = named ] || kill -INT "$(pgrep -P $shown -x pcce-top)"
	wait $shown
	is "$name: status" $? 0
	is "$name: nothing is said" "$(cat "$name.err")" ""
	is "$name: the calls of each context" "$(add_up "$name.out")" "$wanted"
}

show named -p top-counts
show all -a

# ---- the same as a recording ----------------------------------------------------------

rm -f end
: >go
timeout 300 pcce-record -q -b bpf -e $calls -c 1 -o counts.data -- sh -c '(sleep 1; : >end) & exec ./top-counts go end'
pcce-report -q -i counts.data --format=folded >counts.folded
is "pcce-record has these calls" "$(add_up counts.folded)" "$wanted"
frames() { sed 's/ [0-9]*$//' "$1" | grep ';call' | sort -u; }
is "pcce-top has the frames of pcce-report" "$(frames named.out)" "$(frames counts.folded)"

# ---- batch mode ----------------------------------------------------------------------

rm -f go end
./top-counts go end &
program=$!
timeout 60 pcce-top -b -n 2 -F 999 --delay=0.3 -p $program >batch.out
is "two turns: status" $? 0
is "two turns: two first lines" "$(grep -c '^cpu-clock 999 Hz · own CPU [0-9.]*% · [0-9]* lost · [0-9]* taken' batch.out)" 2
timeout 60 pcce-top -b -n 1 --delay=0.3 -p $program >/dev/full 2>log
is "a full disk: status" $? 1
is "a full disk: a sentence" "$(cat log)" \
	"pcce-top: cannot write to standard output: No space left on device"
timeout 60 pcce-top -b --delay=0.1 -p $program 2>log | head -n 1 >/dev/null
is "a pipe that is closed: a sentence" "$(cat log)" \
	"pcce-top: cannot write to standard output: Broken pipe"
timeout 60 pcce-top -b --delay=0.3 -p $program >killed.out 2>&1 &
until_prints killed.out cpu-clock
kill -9 "$(pgrep -P $! -x pcce-top)"
wait $! 2>/dev/null
timeout 60 pcce-top -b -n 1 --delay=0.3 -p $program >again.out
is "after kill -9: status" $? 0
check "after kill -9: the program runs" kill -0 $program

# ---- the view ------------------------------------------------------------------------

if ! command -v tmux >/dev/null; then
	: >go
	: >end
	wait $program
	skip "the view" "tmux is not installed"
	done_testing
fi
export LC_ALL=C.UTF-8
unset NO_COLOR TMUX
tmux=(tmux -L "pcce-top-$$" -f /dev/null -u)
trap '"${tmux[@]}" kill-server 2>/dev/null; rm -rf "$scratch"' EXIT
keys() { "${tmux[@]}" send-keys -t top "$@"; }

# shows NAME PATTERN: within two minutes, a line of the screen matches
shows() {
	local i
	for ((i = 0; i < 1200; i++)); do
		"${tmux[@]}" capture-pane -t top -p >screen 2>/dev/null
		if grep -q -e "$2" screen; then
			ok "$1"
			return
		fi
		sleep 0.1
	done
	not_ok "$1" "wanted: $2" "$(cat screen)"
}

"${tmux[@]}" new-session -d -s top -x 200 -y 24 \
	"pcce-top -e $calls -c 1 --delay=0.2 --window=3600 -p $program; echo status \$?; exec sleep 1000"
shows "the first line" '^syscalls:sys_enter_getppid every 1 · own CPU [0-9.]*% · 0 lost'
shows "functions come first" '100.0% .* ready  (top-counts)'
: >go
shows "what comes later is shown" ' 6500 .* call  (top-counts)\| call  (top-counts)'
keys 1
shows "callers" '▾ main'
keys C
shows "all rows are closed" '▸ main'
turns=$(sed -n '1s/.* of the last \([0-9]*\).*/\1/p' screen)
shows "another second is shown" "of the last $((turns + 1))"
check "... and the rows are as before" grep -q '▸ main' screen
keys Enter
shows "a row opens" '▾ main'
keys P
shows "P pauses" '^Paused; P continues'
keys P
shows "P continues" '^Continues'
keys '?'
shows "help" 'PgUp'
keys q
shows "back again" '▾ main'
"${tmux[@]}" resize-window -t top -x 40 -y 8
shows "a small window" '^syscalls:sys_enter_getppid every 1 · own$\|^syscalls:sys_enter_getppid every 1 · own '
"${tmux[@]}" resize-window -t top -x 20 -y 3
"${tmux[@]}" resize-window -t top -x 120 -y 30
shows "a large window" '▾ main'
: >end
shows "the program ends" '^ended · '
wait $program
keys q
shows "q ends it" '^status 0'

# A warning waits until the view has ended.
printf '#include <unistd.h>\nint main(void) { return (int)sleep(3); }\n' >later.c
$CC $cflags later.c -o later
"${tmux[@]}" respawn-pane -k -t top "pcce-top --delay=0.2; exec sleep 1000"
shows "the whole system" '^cpu-clock 99 Hz · own CPU '
./later
"${tmux[@]}" capture-pane -t top -p >screen
check "no warning in the view" eval '! grep -q warning screen && grep -q "^cpu-clock" screen'
keys q
shows "the warning comes later" 'warning: .*/later is instrumented, but not encoded'

done_testing

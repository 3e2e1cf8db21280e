#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests pcce, which runs all other commands: the table of its commands, their names in messages and
# help, and pcce run, which shows what it has recorded.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

# ---- the first steps, and the table ------------------------------------------------------------

pcce >steps 2>err
is "pcce alone: exit status, and no message" "$? $(cat err)" "0 "
is "... tells what to do in order" "$(sed -n 's/.*pcce[ -]\(gcc\|check\|run\|report\|diff\).*/\1/p' steps | uniq | tr '\n' ' ')" \
	"gcc check run report diff "
is "... in 80 columns" "$(awk 'length > 80' steps)" ""
is "pcce help is pcce --help" "$(pcce help)" "$(pcce --help)"
pcce help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >commands
is "the table has every command" "$(grep -v -x -e run -e doctor -e help commands | sort)" \
	"$(basename -a "$out"/bin/pcce-* | sed -n 's/^pcce-\([a-z]*\)$/\1/p' | grep -v -x gcc | sort)"
is "the manual page has the same table" \
	"$(sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/s/^\.B \([a-z]*\)$/\1/p' "$top/docs/man/pcce.1")" \
	"$(cat commands)"
while read -r c; do
	[ "$c" != help ] || continue
	program=pcce-${c/#run/record}
	program=${program/%doctor/check}
	# The help of a script, pcce-config, names the file.
	[ "$c" = config ] || pcce "$c" --help | grep -q "^Usage: pcce $c " ||
		not_ok "pcce $c --help says pcce $c" "$(pcce "$c" --help)"
	is "pcce $c --help" "$(pcce "$c" --help | grep -v '^Usage:\|^  or:')" \
		"$($program --help | grep -v '^Usage:\|^  or:')"
	is "pcce help $c" "$(pcce help "$c")" "$(pcce "$c" --help)"
done <commands

# ---- wrong commands ----------------------------------------------------------------------------

fails() { # NAME STATUS MESSAGE COMMAND...
	local name=$1 wanted=$2 message=$3
	shift 3
	"$@" >got 2>err
	is "$name" "$? $(wc -c <got) $(head -n 1 err)" "$wanted 0 $message"
}
fails "a misspelled command" 2 \
	"pcce: cannot run 'recrod': there is no such command; did you mean record? pcce help lists all" pcce recrod
fails "a beginning of a command" 2 \
	"pcce: cannot run 'rep': there is no such command; did you mean report? pcce help lists all" pcce rep
fails "another word" 2 "pcce: cannot run 'lunch': there is no such command; pcce help lists all" pcce lunch
fails "an empty word" 2 "pcce: cannot run '': there is no such command; pcce help lists all" pcce ''
fails "a path" 2 "pcce: cannot run '../bin/pcce-record': there is no such command; pcce help lists all" \
	pcce ../bin/pcce-record
fails "a control character" 2 "pcce: cannot run 'a?b': there is no such command; pcce help lists all" \
	pcce $'a\eb'
fails "help of another word" 2 "pcce: cannot run 'lunch': there is no such command; pcce help lists all" \
	pcce help lunch
fails "help of two commands" 2 "pcce: cannot explain more than one command; name one of them" pcce help diff run
pcce >/dev/full 2>err
is "no room for the first steps" "$? $(cat err)" \
	"1 pcce: cannot write to standard output: No space left on device"
cp "$out/bin/pcce" alone
fails "a command that is not beside pcce" 1 \
	"alone: cannot run $PWD/pcce-diff: No such file or directory; reinstall pcce" ./alone diff a b

# ---- what a command sees -----------------------------------------------------------------------

fails "a message of a command" 1 "pcce merge: cannot open a: No such file or directory; record one with pcce-record" pcce merge a
fails "a wrong option of a command" 64 "pcce record: unrecognized option '--lunch'" pcce record --lunch
fails "the exit status of a command" 3 "" pcce check -q cat
mkdir other links
printf '#!/bin/sh\necho wrong\n' | tee other/pcce-config >other/pcce-check
chmod +x other/*
is "commands of another installation on PATH" \
	"$(PATH=$PWD/other:$PATH pcce config --libdir)" "$out/lib/pcce"
ln -s "$out/bin/pcce" links/profile
is "a link of another name" "$(links/profile config --libdir)" "$out/lib/pcce"
is "without PATH" "$(PATH=/nonexistent "$out/bin/pcce" check --version)" "$(pcce-check --version)"

# ---- pcce run ----------------------------------------------------------------------------------

cp "$top/tests/workloads/recursion.c" "$top/tests/workloads/burn.h" .
# shellcheck disable=SC2046
$CC -O2 -g $(pcce config --cflags) recursion.c $(pcce config --ldflags) -o recursion
pcce run -b self ./recursion >out 2>err
is "pcce run: exit status" "$?" 0
check "... tells where the recording is" grep -q '^pcce run: .* samples.* to pcce.data (self)$' err
is "... prints its tree" "$(cat out)" "$(./recursion && pcce-report -i pcce.data -q)"
pcce run -q -b self -o x.data -- sh -c './recursion; exit 42' >out 2>err
is "pcce run -q -o x.data: the status is the command's, and nothing else is said" "$? $(cat err)" "42 "
check "... prints the tree of x.data" grep -q 'main' out
cp x.data pcce.data
fails "a program that is not there shows no old recording" 127 \
	"pcce run: cannot run ./lunch: No such file or directory" pcce run ./lunch
pcce run -b self -o /dev/null ./recursion >out 2>err
is "a recording that cannot be read again is not shown" "$? $(cat out) $(grep -c report err)" \
	"0 $(./recursion) 0"
pcce run -b self -o t.data sh -c 'kill -TERM $PPID; exec sleep 1' >out 2>err
is "nothing is shown after SIGTERM" "$(wc -c <out)" 0
check "... but the recording is complete" grep -q ' to t.data (self)$' err
fails "pcce run alone" 64 \
	"pcce run: cannot record: no command is given; name a command or a process (-p PID), or use -a for the whole system" pcce run

if ! command -v tmux >/dev/null; then
	skip "pcce run on a terminal" "tmux is not installed"
	done_testing
fi
tmux=(tmux -L "pcce-test-$$" -f /dev/null -u)
trap '"${tmux[@]}" kill-server 2>/dev/null; rm -rf "$scratch"' EXIT
# on_screen PATTERN: waits for the pattern for two minutes
on_screen() {
	local i
	for ((i = 0; i < 2400; i++)); do
		"${tmux[@]}" capture-pane -t run -p >screen 2>/dev/null
		grep -q -e "$1" screen && return 0
		sleep 0.05
	done
	return 1
}
"${tmux[@]}" new-session -d -s run -x 100 -y 30 \
	"pcce run -b self -o v.data sh -c './recursion; exit 42'; echo ended: \$?; exec sleep 1000"
if on_screen 'main .*? help$'; then
	ok "pcce run on a terminal opens the view"
else
	not_ok "pcce run on a terminal opens the view" screen
fi
"${tmux[@]}" send-keys -t run q
if on_screen '^ended: 42$'; then
	ok "... and passes on the status when it is left"
else
	not_ok "... and passes on the status when it is left" screen
fi
check "... the name of the file is on the screen" grep -q 'to v.data' screen
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests the interactive view of pcce-report, in a terminal of 80 columns and 24 lines that tmux
# makes. It sends keys and compares the screen.  Nothing waits for a fixed time: a test repeats the
# comparison until the screen is right, or for two minutes.
#
# UPDATE=1 tests/view/run.sh rewrites the golden screens.  Read the difference.

. "$(dirname "$0")/../lib.sh"

here=$top/tests/view
golden=$here/golden
cd "$scratch" || exit 1
command -v tmux >/dev/null || skip_all "tmux is not installed"
export LC_ALL=C.UTF-8
unset NO_COLOR TMUX

build_generator
for kind in small heavy threads empty; do
	generate_unpacked $kind $kind.data || not_ok "generate $kind"
done
mkdir -p source/demo
for f in main parse eval; do
	for ((i = 1; i <= 60; i++)); do printf '\tstep_%d(%s);\n' $i $f; done >source/demo/$f.c
done

n_servers=0
trap 'stop; rm -rf "$scratch"' EXIT

# Each terminal has a separate server, because a server that is ending takes no new session.
stop() { [ $n_servers = 0 ] || "${tmux[@]}" kill-server 2>/dev/null; }

# start COMMAND [COLUMNS LINES]: runs it in a new terminal; its exit status goes to the file
# `status`
start() {
	stop
	n_servers=$((n_servers + 1))
	tmux=(tmux -L "pcce-test-$$-$n_servers" -f /dev/null -u)
	rm -f status
	"${tmux[@]}" new-session -d -s view -x "${2:-80}" -y "${3:-24}" \
		"trap : INT; $1; echo \$? >status; exec sleep 1000"
}

# keys KEY...: names as tmux knows them, or single characters
keys() { "${tmux[@]}" send-keys -t view "$@"; }
type_text() { "${tmux[@]}" send-keys -t view -l "$1"; }

capture() { "${tmux[@]}" capture-pane -t view -p "$@" >screen 2>capture.err; }

# until_true COMMAND...: repeats it for two minutes
until_true() {
	local i
	for ((i = 0; i < 2400; i++)); do
		capture
		"$@" && return 0
		sleep 0.05
	done
	return 1
}

# screen NAME: the screen equals the golden one
screen() {
	if [ "${UPDATE-0}" = 1 ]; then
		sleep 1
		capture
		cp screen "$golden/$1"
	fi
	if until_true cmp -s screen "$golden/$1"; then
		ok "screen $1"
	else
		diff -u "$golden/$1" screen >diff.log
		not_ok "screen $1" diff.log
	fi
}

# shows NAME PATTERN: a line of the screen matches
shows() {
	if until_true grep -q -e "$2" screen; then
		ok "$1"
	else
		not_ok "$1" "wanted: $2" "$(cat screen)"
	fi
}
hides() {
	if until_true sh -c "! grep -q -e '$2' screen"; then
		ok "$1"
	else
		not_ok "$1" "not wanted: $2" "$(cat screen)"
	fi
}
# ends NAME STATUS
ends() {
	if until_true test -s status; then
		is "$1" "$(cat status)" "$2"
	else
		not_ok "$1" "it has not ended"
	fi
}

view="pcce-report -i small.data --source=source"

# ---- the views -------------------------------------------------------------------------

start "$view"
screen callers
keys Down Down Down
shows "the current row is told in full" '^eval  /src/demo/step.h:5  /usr/bin/demo  *4/19'
keys Tab
screen callees
keys Enter Down Right Right
screen callees-open
keys 3 j
screen functions
keys Enter
shows "a function is found among the callers" '^next<char>; really  /src/demo/step.h:4 .*8/19'
keys 1 g a
screen source
keys Down Down
shows "a line below" '^/src/demo/main.c  *12/60'
keys Enter
shows "the heaviest call of a line is followed" 'parse, in this context'
keys a
shows "a function in all contexts" 'parse, in all contexts'
keys q
shows "back in the caller" 'main, in this context'
keys q
shows "back in the tree" '▾ main'
keys 3 m
shows "m shows names in full" '  foo::bar(int, int)  (demo)'
keys m
shows "and in short form" '  foo::bar  (demo)'
keys / ; type_text "o::bar$"; keys Enter
shows "the search looks at both forms" '^foo::bar(int, int)  '
keys 1 '?'
screen help
keys Space
shows "the end of the help" 'By line (key l)  *the line of this frame'
keys q
keys i
screen numbers
keys q
shows "back again" '▾ main'
keys q
ends "q ends it" 0

# ---- folding and moving -----------------------------------------------------------------

start "$view"
shows "open first" '▾ parse'
keys C
screen closed
keys Enter
shows "one level" '├─ ▸ parse'
keys Down e
shows "all below" '│  │    eval'
keys Left
shows "closed again" '├─ ▸ parse'
keys Left
shows "out to the caller" '^main  /usr/bin/demo  *1/'
keys E G
shows "everything open, at the end" '20/2[0-9]\|2[0-9]/2[0-9]'
keys g
shows "the beginning" ' 1/2[0-9]'
keys PgDn
shows "a page down" ' 20/2[0-9]'
keys k
shows "a row up" ' 19/2[0-9]'
keys C-c
ends "Ctrl-C ends it at once" 130

start "pcce-report -i small.data --min-percent=5"
shows "light branches are one row" '▸ … 3 lighter'
keys 2
shows "... bottom-up, too" '▸ … [0-9]* lighter'
keys G Enter
shows "... which opens" '\[kernel\]'
keys q

# ---- searching and selecting ---------------------------------------------------------------

start "$view"
shows "begins" '▾ main'
keys /
type_text 'next<'
keys Enter
shows "found" '^next<char>; really .* 8/19'
keys n
shows "found further on, in a branch that was closed" '^next<char>; really .* 2[0-9]/2[0-9]'
keys N
shows "found backwards" '^next<char>; really .* 8/2[0-9]'
keys /
type_text 'nothing like it'
keys Enter
shows "not found" 'Not found: nothing like it'
keys /
type_text '(('
keys Enter
shows "no expression" '((: '
keys '&'
type_text 'EVAL'
keys Enter
shows "capitals count" '^0 of 87 samples'
keys '&' C-u
type_text 'eval'
keys Enter
screen focus
keys '&' C-u Enter
shows "all contexts again" '^87 samples'
keys x
type_text 'eval'
keys Enter
shows "contexts without" '^48 of 87 samples'
shows "... it says so" 'without eval'
keys x C-u Enter g Down z
screen zoom
keys F
shows "percentages of all" '^   66.7%    0.0%  ▾ parse'
keys F Z
shows "back from zooming" '^87 samples'
keys p
shows "numbers" '^      82       4  ▾ main'
keys p r
screen recursion
keys r r c
hides "no call sites" 'main.c:12'
keys c l
screen by-line
keys l s s s
screen sorted
keys w C-u
type_text written.txt
keys Enter
shows "written" 'Written to written.txt'
is "the same as printed" \
	"$(diff written.txt <(pcce-report -q -i small.data --call-sites=line --sort=name))" ""
keys w C-u
type_text written.txt
keys Enter
shows "no file is written over" 'Cannot write written.txt: File exists'
keys q
ends "the end" 0

start "pcce-report -i heavy.data"
keys 3 p
shows "numbers that are wider than their columns" '^ 390000000 390000000       39  eval'
keys q

start "pcce-report -i threads.data --event='*'"
shows "all threads" '^41 samples'
keys t
screen threads
keys j Enter
shows "one thread" '^16 of 41 samples'
keys v
screen events
keys G Enter
shows "one event" '^6 of 8 samples of page-faults'
keys t Enter v Enter
shows "another event, in all threads" '^33 samples of cpu-clock'
keys q

# ---- the map of time --------------------------------------------------------------------

start "pcce-report -i threads.data"
shows "all samples" '^33 samples of cpu-clock'
keys T
screen time
keys Tab
shows "the next strong cell" '^0.010000 s to 0.010100 s: [0-9]* ms'
keys Enter
shows "one cell is selected" '^[0-9]* of 33 samples of cpu-clock'
shows "... the selection is told" ' · 0.01 to 0.0101 s'
keys T Space End Enter
shows "from the mark" ' · 0.01 to 0.102 s'
keys T a
shows "the whole time" '^33 samples of cpu-clock'
keys T q
shows "nothing changes" '^33 samples of cpu-clock'
keys q
start "pcce-report -i threads.data" 200 60
shows "all samples in a wide terminal" '^33 samples of cpu-clock'
keys T
shows "a wide map has shorter columns" 'a column is 0.001000 s, a cell 0.000020 s'
keys q q
start "LC_ALL=C pcce-report -i threads.data --time=0.02s,0.07s"
shows "a part of the samples" '^13 of 33 samples of cpu-clock'
keys T
shows "a map without UTF-8, of a part" '^[.] *# *# *: *$'
keys Space End Enter
shows "the options still select" '^13 of 33 samples of cpu-clock'
keys q
cflags=$(pcce-config --cflags) ldflags=$(pcce-config --ldflags)
# shellcheck disable=SC2086 # lists of flags
check "threads with origins" \
	sh -c "$CC -O2 -g -pthread $cflags '$top/tests/workloads/origins.c' $ldflags -o origins && pcce-record -q -b self -F 1000 -o origins.data -- ./origins"
start "pcce-report -i origins.data" 100 30
shows "their contexts" 'burn'
keys t
shows "what created a thread" \
	'origins  thread [0-9]* of process [0-9]* *main → start_a  origins.c:[0-9]*$'
shows "of a long chain its end" ' …[^ ]* .* → create_inner  origins.c:[0-9]*$'
keys q q
start "pcce-report -i origins.data" 60 30
shows "in a narrow terminal" 'burn'
keys t
shows "... the end of it" ' thread [0-9]* of process [0-9]* *….*:[0-9]*$'
# Which row has a long chain depends on the samples.  Each key waits for its effect.
for ((i = 0; i < 20 * 120; i++)); do
	[ $((i % 20)) != 0 ] || keys j
	capture
	grep -q '^created by .* → ' screen && break
	sleep 0.05
done
check "... and more of the current one's in the last line" grep '^created by .* → ' screen
keys q q
start "pcce-report -i threads.data --comm=worker --time=,30ms"
shows "what the command line selects" '^10 of 33 samples of cpu-clock'
keys q

# ---- source --------------------------------------------------------------------------------------

start "pcce-report -i small.data"
keys a
shows "without the file, where to look for it is told" 'cannot find source file /src/demo/main.c; use --source=DIR'
shows "... and costs are shown by line" '^   64.4%    0.0%    12'
keys Tab
shows "the next hottest line" ' 12/15'
keys q Down Down Down Down Down a
keys q 3 j j a
shows "no lines, and why" 'cannot show __strlen_avx2: no line numbers; compile it with -g'
keys q

# ---- instructions ----------------------------------------------------------------------

start "pcce-report -i small.data"
keys A
shows "without the program, its code is not shown, and why" 'cannot read /[^:]*: '
keys q
cat >loop.c <<'END'
static volatile unsigned long sum;
static inline __attribute__((always_inline)) void add(unsigned long n) { sum += n; }
__attribute__((noinline)) static void inner(unsigned long n)
{
	while (n--)
		add(n);
}
int main(void)
{
	for (int i = 0; i < 300; i++)
		inner(1000000);
	return 0;
}
END
# shellcheck disable=SC2086 # lists of flags
check "a program with a hot instruction" \
	sh -c "$CC -O1 -g $cflags loop.c $ldflags -o loop && pcce-record -q -b self -o loop.data -- ./loop"
start "pcce-report -i loop.data" 100 40
shows "its contexts" 'inner'
keys 3 / a d d Enter A
shows "an inlined function: the function that holds it" '^ *inner$'
shows "... a line of the source" 'loop.c:2  static inline .* void add'
shows "... an instruction with samples" '^ *[1-9][0-9.]*%  *[0-9a-f]*  [a-z]'
keys / i n c Enter q / i n n e r Enter A
shows "a function" 'inner, in all contexts'
keys q / ^ m a i n Enter
# Whether main has a sample is chance.
keys A
shows "slots are one row, or it is said that no sample is there" \
	'(pcce: [0-9]* bytes\|cannot show the code of main: no sample is in it'
keys q q
cp loop kept
sed -i 's/300/301/' loop.c
# shellcheck disable=SC2086 # lists of flags
$CC -O1 -g $cflags loop.c $ldflags -o loop
start "pcce-report -i loop.data" 100 40
keys 3 A
shows "another build is not shown" 'cannot show the code of /.*/loop: it was built again'
keys q
cp kept loop
strip loop
start "pcce-report -i loop.data" 120 40
keys 3 A
shows "no symbols: said" 'cannot find the function in /.*/loop: its symbols were removed'
# A FIFO has the name of the debug information.
: >link.debug
objcopy --add-gnu-debuglink=link.debug loop
rm link.debug
mkfifo link.debug
keys q
start "pcce-report -i loop.data" 120 40
keys 3 A
shows "a FIFO instead of debug information: not read" 'cannot find the function in /.*/loop: its'
keys q
rm link.debug
objcopy --only-keep-debug kept link.debug
strip loop
objcopy --remove-section=.gnu_debuglink --add-gnu-debuglink=link.debug loop
start "pcce-report -i loop.data" 120 40
keys 3 A
shows "the debug information beside it" 'loop.c:[25]  .*'
keys q
# Functions of assembly: one inside another, and one without a size.
cat >parts.s <<'END'
	.globl outer, within, sizeless
	.type outer, @function
	.type within, @function
	.type sizeless, @function
outer:	mov $200000000, %ecx
1:	dec %ecx
	jnz 1b
within:	mov $200000000, %ecx
2:	sub $1, %ecx
	jnz 2b
	.size within, .-within
	mov $200000000, %ecx
3:	add $-1, %ecx
	jnz 3b
	ret
	.size outer, .-outer
sizeless: mov $200000000, %ecx
4:	lea -1(%ecx), %ecx
	test %ecx, %ecx
	jnz 4b
	ret
	.section .note.GNU-stack, "", @progbits
END
printf 'void outer(void), sizeless(void);int main(void) { outer(); sizeless(); }' >parts.c
# shellcheck disable=SC2086 # lists of flags
check "functions of assembly" \
	sh -c "$CC -O1 -g $cflags parts.c parts.s $ldflags -o parts && pcce-record -q -b self -o parts.data -- ./parts"
start "pcce-report -i parts.data" 100 40
keys / o u t e r Enter 3 A
shows "a function around another: its beginning" 'decl '
shows "... its end" 'addl '
keys q q
start "pcce-report -i parts.data" 100 40
shows "functions of assembly have contexts" 'main'
keys 3 / s i z e l e s s Enter A
shows "a function without a size" '^ *[1-9][0-9.]*%  *[0-9a-f]*  *testl '
keys q

# ---- terminals -----------------------------------------------------------------------

start "$view" 40 8
shows "a small terminal" '^   64.4%    0.0%  ├─ ▾ parse  main.c:12'
"${tmux[@]}" resize-window -t view -x 100 -y 30 2>/dev/null
shows "made larger" '19 *? help\|^ *2.3% .*undecodable'
keys q
start "$view" 10 2
keys j j '?' q 2 3 a q q
ends "a terminal that is much too small" 0
start "LC_ALL=C $view"
shows "ASCII without UTF-8" '^   64.4%    0.0%  |- - parse  main.c:12'
shows "... for repetitions, too" 'eval  eval.c:9  x 3-8'
keys q
start "$view"
shows "begins" '▾ main'
capture -e
check "colours" grep -q "$(printf '\033\\[[0-9;]*3[0-7]m')" screen
keys q
start "NO_COLOR=1 $view"
shows "begins" '▾ main'
capture -e
check "no colours with NO_COLOR" sh -c "! grep -q '$(printf '\033')\\[[0-9;]*[34][0-7]m' screen"
keys q
text='^   9.2%     9.2%  │  └─ __strlen_avx2'
start "TERM=dumb $view"
shows "text on a dumb terminal" "$text"
start "TERM=no-such-terminal $view"
shows "text on an unknown terminal" "$text"
ends "... is no failure" 0
start "TERM=no-such-terminal $view --tui"
ends "--tui on an unknown terminal" 1
shows "... says why" 'cannot show the view: no suitable terminal (TERM=no-such-terminal)'
start "$view --stdio"
shows "--stdio" "$text"
start "$view --format=flat"
shows "a format that is named is printed" '^ 44.83%   44.83%        39  eval'
start "pcce-report -i empty.data"
shows "an empty recording" 'No sample is selected'
keys a Enter n z E C t Enter 2 Enter 3 Enter a
shows "... harms nobody" 'No sample is selected'
keys q
ends "... and ends" 0
start "pcce-report -i no-such.data"
ends "a file that is not there" 1
pcce-report -i small.data --tui >out.log 2>err.log </dev/null
is "--tui without a terminal" $? 1
check "... says why" grep -q "cannot show the view" err.log
pcce-report -i small.data --tui --stats >out.log 2>err.log
is "--tui goes without --stats" $? 2
done_testing

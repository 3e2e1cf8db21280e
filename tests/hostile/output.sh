#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The attacker chooses names: of programs, functions, files, threads and events. The names hold
# commands to the terminal, line feeds, changes of direction and invalid UTF-8. Nothing of that may
# reach the terminal or a format that people read.

. "$(dirname "$0")/../lib.sh"

cd "$scratch" || exit 1
poison=$'\e]0;x\a\e[31m\302\23331m\r\377\342\200\256'

build_generator
./generate hostile hostile.data
./generate hostile-event event.data

# is_clean FILE: valid UTF-8 without controls but line feed and tab
is_clean() {
	iconv -f UTF-8 -t UTF-8 "$1" >/dev/null &&
		! grep -aPq '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$1"
}

# clean NAME WORD COMMAND...: what the command prints holds WORD and nothing that harms
clean() {
	local name=$1 word=$2
	shift 2
	"$@" >printed 2>&1 </dev/null
	if ! grep -aqF -e "$word" printed; then
		not_ok "$name" "no '$word' in what was printed:" "$(head -c 2000 printed | cat -v)"
	elif ! is_clean printed; then
		not_ok "$name" "$(grep -aP '[^\n\t -~]' printed | head -n 5 | cut -c 1-300 | cat -v)"
	else
		ok "$name"
	fi
}

printf 'harmless ×2\n' >harmless
check "the test itself passes what is harmless" is_clean harmless
for byte in '\e' '\302\233' '\377' '\r' '\342\200\256'; do
	# shellcheck disable=SC2059 # an escape
	printf "x$byte\n" >harmful
	check "  and finds $byte" eval '! is_clean harmful'
done

for format in tree callees flat folded json jsonl speedscope firefox trace perf-script callgrind \
	dot; do
	clean "pcce-report: names in $format" main pcce-report -i hostile.data --format=$format
done
is "  no name ends in what looks like a count" \
	"$(pcce-report -q -i hostile.data --format=folded | grep -c ' 65.4 [0-9]*$')" 0
clean "pcce-report: names in threads" demo pcce-report -i hostile.data --format=threads
clean "pcce-report: names in html" "pcce profile" pcce-report -i hostile.data --format=html
clean "pcce-report: names of functions that do not decode" parse \
	pcce-report -i hostile.data --stats -v
clean "pcce-report: names with origins" main pcce-report -i hostile.data --origins --stdio
head -c -100 hostile.data >"cut$poison.data"
clean "pcce-report: the name of a recording" "has no end record" pcce-report -i "cut$poison.data"
clean "pcce-report: the name of no recording" "cannot open" pcce-report -i "none$poison.data"
clean "pcce-report: the name of an event" "it is of" pcce-report -i hostile.data --event=none
clean "pcce-report: the name of the output" "cannot write" \
	pcce-report -i hostile.data -o "none$poison/x"
clean "pcce-report: arguments" "cannot use the argument" pcce-report "x$poison"
clean "pcce-merge: names of events" "the first counts" \
	pcce-merge -o merged.data hostile.data event.data
clean "pcce-merge: the name of the output" "aggregated samples" \
	pcce-merge -o "merged$poison.data" hostile.data
clean "pcce-merge: the name of no output" "cannot write" pcce-merge -o "$poison/x" hostile.data
clean "pcce-diff: names of events" "the first counts" pcce-diff hostile.data event.data
clean "pcce-diff: the name of the output" "cannot write" \
	pcce-diff -o "none$poison/x" hostile.data hostile.data
for format in text folded json; do
	clean "pcce-diff: names in $format" main \
		pcce-diff -a --format=$format hostile.data hostile.data
done
clean "pcce-diff: names in html" "pcce profile" \
	pcce-diff -a --format=html hostile.data hostile.data

# ---- a small recording of long stacks ----------------------------------------------------------

./generate deep deep.data
check "a recording of 20 KB has stacks of 800,000 frames" \
	test "$(stat -c %s deep.data)" -lt 20000 -a "$(stat_of deep.data max_depth)" -gt 800000
for format in $(formats); do
	size=$(timeout 300 pcce-report -i deep.data --format=$format 2>deep.err | wc -c)
	check "  its size in $format: $size bytes" test "$size" -gt 0 -a "$size" -lt 500000
done
is "  recursion that is left out is counted" \
	"$(pcce-report -i deep.data --format=folded | tail -n 1)" \
	"main;parse;step;eval;eval;[59997 more of the same];eval;eval 1"
for format in text folded json html; do
	size=$(timeout 300 pcce-diff -a --format=$format deep.data deep.data 2>deep.err | wc -c)
	check "  its size in pcce-diff's $format: $size bytes" test "$size" -gt 0 -a "$size" -lt 500000
done

# ---- programs ----------------------------------------------------------------------------------

cp /bin/true "true$poison"
if has_bpf; then
	clean "pcce-record: the path of a program" "was not built with pcce" \
		pcce-record -b bpf -o x.data -- "./true$poison"
else
	skip "pcce-record: the path of a program" "$bpf_reason"
fi
clean "pcce-record: the path of the output" " samples, " \
	pcce-record -b self -o "x$poison.data" -- "./true$poison"
clean "pcce-record: a program that is not there" "cannot run" \
	pcce-record -b self -o x.data -- "./none$poison"
clean "pcce-record: the path of no output" "cannot create" \
	pcce-record -b self -o "none$poison/x.data" -- true

printf 'int f(void) __asm__("evil\302\233f"); int (*volatile p)(void);\n%s\n' \
	'__attribute__((noinline)) int f(void) { return p ? p() : 1; } int main(void) { return f(); }' >evil.c
# shellcheck disable=SC2046 # a list of options
"$CC" -O1 $(pcce-config --cflags --ldflags) evil.c -o "evil$poison" >build.log 2>&1 ||
	not_ok "build the program" build.log
for options in "" -v; do
	# shellcheck disable=SC2086 # perhaps none
	clean "pcce-encode --dump $options: names of functions" evil \
		pcce-encode --dump $options "evil$poison"
done
clean "pcce-encode: the path" "cannot encode" pcce-encode "true$poison"

# ---- the interactive view ----------------------------------------------------------------------

if command -v tmux >/dev/null; then
	tmux -L "pcce-test-$$" -f /dev/null -u new-session -d -x 200 -y 40 \
		"LC_ALL=C.UTF-8 pcce-report -i hostile.data --tui; sleep 100"
	for ((i = 0; i < 600; i++)); do
		tmux -L "pcce-test-$$" capture-pane -p >screen 2>/dev/null
		grep -q 'demo --fast' screen && break
		sleep 0.1
	done
	is "the interactive view sets no title" \
		"$(tmux -L "pcce-test-$$" display-message -p '#{pane_title}')" "$(hostname)"
	clean "the interactive view: names" "demo --fast" cat screen
	tmux -L "pcce-test-$$" kill-server
else
	skip "the interactive view" "tmux is not installed"
fi

done_testing

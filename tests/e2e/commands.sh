#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests what every command promises: --help, --version, a manual page, one sentence for a wrong
# option.  Also tests `make install` into a staging directory, and `make uninstall`.

. "$(dirname "$0")/../lib.sh"
version=$(cat "$top/VERSION")
cd "$scratch" || exit 1

for c in pcce pcce-encode pcce-record pcce-report pcce-top pcce-merge pcce-diff pcce-compare pcce-check pcce-core \
	pcce-decode pcce-config pcced; do
	check "$c --help" $c --help
	check "$c --help describes options" sh -c "$c --help | grep -q -e '--version'"
	is "$c --version names $version" "$($c --version 2>&1 | grep -c -F -- "$version")" 1
	$c --no-such-option >log 2>&1
	status=$?
	check "$c --no-such-option fails and names it" \
		sh -c "[ $status != 0 ] && grep -q no-such-option log"
	check "$c has a manual page" test -s "$top/docs/man/$c.1"
	check "... with examples" grep -q '^\.SH EXAMPLE' "$top/docs/man/$c.1"
	# Options that --help shows but the manual page does not have.
	unknown=$($c --help | grep -o -e '--[a-z][a-z-]*' | sort -u | while read -r o; do
		sed 's/\\-/-/g' "$top/docs/man/$c.1" | grep -q -e "$o\\>" || echo "$o"
	done)
	is "$c: the manual page tells of every option" "${unknown//$'\n'/ }" ""
done
if command -v man >/dev/null; then
	for page in "$top"/docs/man/*.[1-8]; do
		is "$(basename "$page") is well formed" \
			"$(MANROFFSEQ='' MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 "$page" 2>&1 >/dev/null)" ""
	done
else
	skip "manual pages are well formed" "man is not installed"
fi

for f in pcce-encode pcce-report pcce-record; do
	$f ${f:+$([ $f = pcce-report ] && echo -i)} /nonexistent >log 2>&1 </dev/null
	status=$?
	[ $f = pcce-record ] && continue
	check "$f of a missing file fails and names it" \
		sh -c "[ $status != 0 ] && grep -q /nonexistent log"
done

# ---- standard output as a file, and several recordings -----------------------------------------

build_generator
./generate small small.data
cp "$top/tests/workloads/recursion.c" "$top/tests/workloads/burn.h" .
# shellcheck disable=SC2046
$CC -O2 -g $(pcce-config --cflags) recursion.c $(pcce-config --ldflags) -o recursion
writes() { # NAME COMMAND...: with -o FILE and with -o - the command writes the same
	local name=$1 status
	shift
	"$@" -o wanted >log 2>&1 || not_ok "$name -o FILE" log
	"$@" -o - >got 2>log
	status=$?
	is "$name -o - is standard output" "$status $(cmp wanted got 2>&1) $(ls ./- 2>/dev/null)" "0  "
}
writes "pcce-report" pcce-report -q -i small.data
writes "pcce-report --format=pprof" pcce-report -q -i small.data --format=pprof
writes "pcce-diff" pcce-diff small.data small.data
writes "pcce-merge" pcce-merge small.data
writes "pcce-decode" pcce-decode --select='walk << main' recursion
pcce-merge small.data -o - 2>log >/dev/full
is "pcce-merge -o - to a full device" "$? $(grep -c 'standard output: No space left' log)" "1 1"
pcce-merge small.data -o - >&- 2>log
is "pcce-merge -o - without standard output" "$? $(cat log)" \
	"1 pcce-merge: cannot write standard output: Bad file descriptor"
refuses() { # NAME WORDS COMMAND...: one sentence with these words, and no file is made
	local name=$1 words=$2
	shift 2
	"$@" >got 2>log
	is "$name is refused" "$(($? != 0)) $(grep -c -F -e "$words" log) $(wc -c <got) $(ls ./- 2>/dev/null)" \
		"1 1 0 "
}
refuses "pcce-record -g" "cannot use -g: every sample has its whole calling context; leave it out" \
	pcce-record -g -- /bin/true
refuses "pcce-record --call-graph" "cannot use --call-graph: every sample has its whole calling context; leave it out" \
	pcce-record --call-graph dwarf -- /bin/true
refuses "pcce-record -o -" "cannot write the recording to standard output: the command writes there; name a file with -o" \
	pcce-record -b self -o - -- /bin/echo text
refuses "pcce-encode -o -" "cannot write the encoded file to standard output; name a file with -o" \
	pcce-encode -o - recursion
refuses "pcce-report with two recordings" "cannot show more than one recording; join them with pcce-merge" \
	pcce-report -i small.data -i small.data
refuses "pcce-encode with two recordings" "cannot use more than one recording; join them with pcce-merge" \
	pcce-encode -p small.data -p small.data -o other recursion
refuses "pcce-report --tui -o -" "leave out --tui" pcce-report -i small.data --tui -o -
if command -v script >/dev/null; then
	script -qec 'pcce-merge small.data -o -' /dev/null </dev/null >log 2>&1
	check "pcce-merge -o - on a terminal is refused" grep -q 'cannot write a recording on a terminal' log
	TERM=xterm script -qec 'pcce-report -i small.data -o -' /dev/null </dev/null >log 2>&1
	check "pcce-report -o - on a terminal is text" grep -q 'main' log
else
	skip "-o - on a terminal" "script is not installed"
fi

# A command that cannot run gives the shell's status.  The status of a command is passed on.
pcce-record -b self -o x.data -- /nonexistent >log 2>&1
is "pcce-record of a missing command" $? 127
check "... says which" grep -q /nonexistent log
pcce-record -b self -o x.data -- sh -c 'exit 42' >log 2>&1
is "the command's exit status is passed on" $? 42

# Installation: staged, then moved to its configured place.
prefix=$scratch/usr
if make -s -C "$top" O="$out" install DESTDIR="$scratch/stage" PREFIX="$prefix" >log 2>&1; then
	ok "make install with DESTDIR"
	check "nothing was installed outside DESTDIR" [ ! -e "$prefix" ]
	check "installed files do not name the build directory" \
		sh -c "! grep -rIl -F '$out' '$scratch/stage$prefix/bin' '$scratch/stage$prefix/lib'"
	mv "$scratch/stage$prefix" "$prefix"
	PATH=$prefix/bin:$PATH
	hash -r
	cp "$top/tests/workloads/recursion.c" "$top/tests/workloads/burn.h" .
	# shellcheck disable=SC2046
	check "the installed tree builds a program" \
		$CC -O2 -g $(pcce-config --cflags) recursion.c $(pcce-config --ldflags) -o recursion
	is "the installed pcce finds its commands" "$(pcce config --cflags)" "$(pcce-config --cflags)"
	case $(pcce-config --cflags) in
	*"$prefix"*) ok "the installed pcce-config names the installed files" ;;
	*) not_ok "the installed pcce-config names the installed files" "$(pcce-config --cflags)" ;;
	esac
	if record self i.data ./recursion; then
		recording_is_exact "the installed tools record and report it" i.data 50
	else
		not_ok "the installed tools record and report it" i.data.err
	fi
	mkdir -p "$(dirname "$scratch/stage$prefix")"
	mv "$prefix" "$scratch/stage$prefix"
	make -s -C "$top" O="$out" uninstall DESTDIR="$scratch/stage" PREFIX="$prefix" >log 2>&1
	is "make uninstall leaves no file" "$(find "$scratch/stage" ! -type d)" ""
else
	not_ok "make install with DESTDIR" log
fi
is "no page has a word that only *.in files may have" \
	"$(grep -l '@[A-Z][A-Z]*@' "$top"/docs/man/*)" ""
done_testing

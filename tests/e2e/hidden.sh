#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests links that hide symbols: version scripts and --exclude-libs.  The runtime's names must stay
# visible to libraries, and contexts must be those of a plain link.  Where names are hidden in
# another way, every sample must be marked.

. "$(dirname "$0")/../lib.sh"
sources_in hidden

echo '{ global: main; local: *; };' >anonymous.map
echo 'V1 { global: main; local: *; };' >named.map
echo '/* { */ V1 { main; }; V2 { local: *; } V1; # end' >two.map
echo 'VERSION { V1 { global: main; local: *; }; }' >hidden.ld
echo 'VERSION { V1 { global: *; }; }' >versions.ld
echo '-Wl,--exclude-libs=ALL -Wl,--version-script=named.map' >response

$CC $cflags -fPIC -shared "$w/lib.c" $ldflags -pthread -o libhidden.so &&
	$CC $cflags -c "$w/main.c" -o opened.o &&
	$CC $cflags -DLINKED -c "$w/main.c" -o linked.o || exit 1

link() { # OBJECT PROGRAM FLAGS...: ends with the messages in PROGRAM.log
	local object=$1 program=$2
	shift 2
	[ "$object" = opened.o ] || set -- "$@" -L. -lhidden -Wl,-rpath,"$PWD"
	limited $CC $cflags "$object" $ldflags "$@" -ldl -o "$program" >"$program.log" 2>&1
}

contexts() { # DATA: those of the loops, in which nearly all samples are
	pcce-report -i "$1" --no-kernel --format=folded | sed 's/ [0-9]*$//' | grep 'spin$' | sort
}

# as_plain NAME OBJECT FLAGS...
as_plain() {
	local name=$1 object=$2
	shift 2
	rm -f program
	if ! link "$object" program "$@"; then
		not_ok "$name: links" program.log
		return
	fi
	is "$name: no message" "$(cat program.log)" ""
	if record self data ./program ./libhidden.so; then
		is "$name: output" "$(cat data.out)" 2
		# A sample may come between a jump, or a signal, and the runtime's work on it.
		allow_marked=1 recording_is_exact "$name: all samples exact" data 100
		is "$name: contexts" "$(contexts data)" "$(cat "$object.want")"
	else
		not_ok "$name: recorded" data.err
	fi
}

for object in opened.o linked.o; do
	link $object plain && record self data ./plain ./libhidden.so || exit 1
	contexts data >$object.want
	check "$object: a plain link has the contexts of calls, jumps, threads and signals" eval '
		grep -q "^main;work;catcher;lib_call;thrower;lib_throw;lib_spin$" '$object'.want &&
		grep -q "^main;work;catcher;spin$" '$object'.want &&
		grep -q "^main;work;lib_catch;lib_spin$" '$object'.want &&
		grep -q "^lib_body;thread_back;lib_call;back;spin$" '$object'.want &&
		grep -q "\[signal\];on_signal;.*spin$" '$object'.want &&
		[ $(wc -l <'$object'.want) = 13 ]'
done

echo 'int main(void) { return 0; }' >empty.c
for linker in bfd gold lld mold; do
	if ! command -v ld.$linker >/dev/null; then
		skip "$linker" "ld.$linker is not installed"
		continue
	fi
	# mold 1.10 never ends with a list.
	limited $CC -fuse-ld=$linker -Wl,--exclude-libs=libpcce.a:libpcce_jump.a empty.c -o empty \
		2>empty.log
	lists=$?
	for object in opened.o linked.o; do
		for script in anonymous named two; do
			as_plain "$linker, $object, $script version" $object -fuse-ld=$linker \
				-Wl,--version-script=$script.map
		done
		as_plain "$linker, $object, --exclude-libs" $object -fuse-ld=$linker \
			-Wl,--exclude-libs,ALL
	done
	as_plain "$linker, both in a response file" opened.o -fuse-ld=$linker @response
	if [ $lists = 0 ]; then
		as_plain "$linker, other forms of the options" opened.o -fuse-ld=$linker \
			-Wl,-version-script,named.map -Wl,--exclude-libs=libpcce.a:libpcce_jump.a
	else
		skip "$linker, other forms of the options" \
			"$(ld.$linker --version | head -n 1) cannot link with --exclude-libs=A:B"
	fi
	gc=-Wl,--gc-sections
	[ $linker != gold ] || gc=
	as_plain "$linker, all flags twice, LTO, --gc-sections" opened.o -fuse-ld=$linker -flto \
		$gc $ldflags -Wl,--version-script=named.map -Wl,--exclude-libs=ALL
done

# What the user's script says of other names holds.
link opened.o program -rdynamic -Wl,--version-script=named.map
check "the user's version is kept" eval 'readelf -W --dyn-syms program | grep -q " main@@V1"'
check "other names stay hidden" eval '! nm -D program | grep -q " [TtDd] on_signal\| __pcce_push"'
check "the runtime's names have no version" eval '
	readelf -W --dyn-syms program | grep -q " setjmp$" &&
		! readelf -W --dyn-syms program | grep -q "@PCCE_RUNTIME"'
link opened.o program -Wl,--version-script=named.map
cp program same
link opened.o program -Wl,--version-script=named.map
check "the same link gives the same bytes" cmp program same
is "nothing is left in TMPDIR" "$(mkdir tmp && TMPDIR=$PWD/tmp link opened.o program \
	-Wl,--version-script=named.map -Wl,--exclude-libs=ALL; ls tmp)" ""
check "with PCCE_ENCODE=off and pcce-encode" eval '
	PCCE_ENCODE=off link opened.o program -Wl,--version-script=named.map &&
		pcce-encode program && cmp program same'
check "encoded again by a recording" eval '
	record self data ./program ./libhidden.so && pcce-encode --profile=data program'
check "... the names still have no version" \
	eval 'readelf -W --dyn-syms program | grep -q " setjmp$"'

# Lists of dependencies name the original files.
for linker in bfd lld mold; do
	if ! ld.$linker --help 2>/dev/null | grep -q -- --dependency-file; then
		skip "list of dependencies, $linker" "ld.$linker does not write one"
		continue
	fi
	mkdir -p "a dir"
	cp named.map "a dir/named.map"
	link opened.o program -fuse-ld=$linker -Wl,--version-script="a dir/named.map" \
		-Wl,--exclude-libs=ALL -Wl,--dependency-file=list.d
	check "$linker: a list of dependencies has the runtime" grep -q 'libpcce.a' list.d
	check "$linker: ... and no file in /proc" eval '! grep /proc list.d'
	printf '%s\n' 'all: program' >makefile
	check "$linker: ... and make reads it" make -f makefile -f list.d -q all
done

# A link that fails prints its messages once, and they name the user's script.
echo 'int undefined_function(void); int main(void) { return undefined_function(); }' >undefined.c
$CC $cflags -c undefined.c
check "a link that fails still does" eval '! link undefined.o fails -Wl,--version-script=named.map'
is "... and says why once" "$(grep -c 'undefined reference' fails.log)" 1
echo 'V1 { global: main;' >broken.map
check "a broken script still fails" eval '! link opened.o fails -Wl,--version-script=broken.map'
check "... with its name" grep -q 'broken.map' fails.log

# Hidden in a way that the wrapper does not know: encoded, with a warning, and all samples marked.
for how in "opened.o hidden" "linked.o hidden" "opened.o versions"; do
	object=${how% *} script=${how#* }.ld
	check "VERSION in a linker script, $how: links" \
		link "$object" program -fuse-ld=bfd -rdynamic "$script"
	is "... warns once" "$(grep -c "warning: 'program' hides its runtime" program.log)" 1
	check "... fails with PCCE_ENCODE=strict" eval \
		'! PCCE_ENCODE=strict link "$object" strict -fuse-ld=bfd -rdynamic "$script"'
	record self data ./program ./libhidden.so || not_ok "... recorded" data.err
	is "... output" "$(cat data.out)" 2
	is "... no sample is exact" "$(stat_of data exact)" 0
	is "... none is taken twice" \
		"$(pcce-report -i data --format=folded | grep -c 'main;\|work;\|lib_call;')" 0
	pcce-report -i data --stats >stats
	check "... all are undecodable" test "$(stat_of data undecodable)" -gt 100
	check "... the reason is lost_id" grep -q lost_id stats
done
pcce-check program >check.out
is "pcce-check: status" $? 3
check "pcce-check says it" grep -q '^program: instrumented, but its runtime is hidden' check.out
check "counting refuses it" eval '
	! pcce-record --count -o count.data ./program ./libhidden.so 2>count.err &&
		grep -q "hides its runtime" count.err'
done_testing

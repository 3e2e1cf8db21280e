#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-core: contexts in core dumps, also of programs that have overwritten their stacks.  The
# programs write their chains of calls to a file before.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/core/lib.sh"
cd "$scratch" || exit 1
command -v pkg-config >/dev/null || skip_all "pkg-config is not installed"
export PKG_CONFIG_PATH=$out/lib/pkgconfig
cp "$top"/tests/e2e/core/*.c .
ulimit -c unlimited 2>/dev/null || skip_all "core dumps are not allowed"

# crash COMMAND...: its core is then in the file "core"
crash() {
	rm -f core core.* truth
	# The shell tells of each signal.
	{ "$@" >/dev/null 2>crash.err; } 2>/dev/null
	[ -e core ] || mv core.* core 2>/dev/null
	[ -e core ]
}
build() { # NAME SOURCES-AND-FLAGS...
	local name=$1
	shift
	# shellcheck disable=SC2046
	$CC -g $(pkg-config --cflags pcce) "$@" $(pkg-config --libs pcce) -pthread -o "$name" \
		>"$name.log" 2>&1
}

build crashes -O2 crashes.c || not_ok "crashes.c is built" crashes.log
crash ./crashes null 3 || skip_all "this system does not write core dumps into the working directory"

# first_thread: the chain of the first thread
first_thread() {
	awk '/^thread / { if (seen++) exit; next } { print }' "$1" | chain_of_crash
}

all_kinds() { # NAME DEPTH
	local kind
	for kind in $kinds; do
		if ! crash ./crashes "$kind" "$2"; then
			not_ok "$1, $kind: it crashes" crash.err
		elif pcce-core core >printed 2>printed.err &&
			first_thread printed | cmp -s - truth && [ ! -s printed.err ]; then
			ok "$1, $kind: the context is that of the program"
			echo "#   $(wc -l <truth) frames"
		else
			not_ok "$1, $kind: the context is that of the program" printed.err \
				"$(first_thread printed | diff - truth | head -n 6)"
		fi
	done
}

all_kinds -O2 20
build crashes -O2 -static crashes.c
all_kinds "-O2 -static" 400
build crashes -O0 -no-pie -fno-pie crashes.c
all_kinds "-O0 -no-pie" 1
build crashes -O2 crashes.c

# ---- what is not exact is marked -----------------------------------------------------------

crash ./crashes wild 5
pcce-core core >printed 2>printed.err
is "a return to no code is marked" "$(sed -n 2p printed)" \
	"    [the program jumped to 0x1000; inner frames are missing]"
is "... and the outer frames are right" "$(tail -n +4 printed | grep -v '\[' | tail -n 1)" \
	"$(sed -n '$p' printed | grep 'main at')"

# ---- threads -------------------------------------------------------------------------------

crash ./crashes thread 5
pcce-core core >printed 2>printed.err
is "each thread has its context" "$(grep -c '^thread ' printed)" 3
check "... also one that waits" grep -q ' wait_here at .*crashes.c:' printed
check "... and one that waits for another" grep -q ' main at .*crashes.c:' printed
is "only one has ended the process" "$(grep -c 'ended by signal 11' printed)" 1

# ---- files ---------------------------------------------------------------------------------

crash ./crashes null 30
pcce-core core >wanted
mkdir moved
mv crashes moved
pcce-core core >gone 2>gone.err
is "without the program nothing is decoded" $? 3
check "... and one sentence says so" grep -q "^pcce-core: cannot open .*/crashes: No such file" gone.err
check "the program can be named" sh -c "pcce-core core moved/crashes | cmp - wanted"
check "... or its folder" sh -c "pcce-core -s moved core | cmp - wanted"
build crashes -O1 crashes.c
pcce-core core >gone 2>gone.err
is "another build is refused" "$? $(grep -c 'has been built or encoded again' gone.err)" "3 1"
strip -o crashes moved/crashes
check "a stripped program is enough" sh -c "pcce-core core | sed 's/ at .*//; s/ x.*//' >stripped; sed 's/ at .*//; s/ x.*//' wanted | cmp - stripped"
cp moved/crashes .
# Another encoding keeps the build id.
if record self again.data ./crashes null 3; pcce-encode -p again.data crashes 2>recoded.log; then
	pcce-core core >gone 2>gone.err
	is "another encoding is refused" "$? $(grep -c 'has been built or encoded again' gone.err)" "3 1"
else
	skip "another encoding is refused" "there are no samples of this short program"
fi
cp moved/crashes .

if build library.so -O2 -fPIC -shared library.c && $CC -DPROGRAM library.c ./library.so -o plain 2>plain.log; then
	crash ./plain
	pcce-core core >printed 2>printed.err
	is "an instrumented library in another program" \
		"$(sed -n 's/^    #[0-9]* *\([^ ]*\).*/\1/p' printed | uniq | xargs)" \
		"fall library_crash [uninstrumented"
else
	not_ok "an instrumented library in another program" library.so.log plain.log
fi
# As systemd-coredump writes them.
crash ./crashes null 30
pcce-core core >wanted
for packer in zstd xz lz4 gzip; do
	if ! command -v $packer >/dev/null; then
		skip "a core that $packer has compressed" "$packer is not installed"
		continue
	fi
	$packer -c core >packed 2>/dev/null
	pcce-core packed >printed 2>printed.err
	check "a core that $packer has compressed" sh -c "cmp printed wanted && [ ! -s printed.err ]"
	head -c $(($(stat -c %s packed) * 9 / 10)) packed >part
	pcce-core part >printed 2>printed.err
	# libarchive does not see that a file of lz4 is cut off; then the core is.
	[ $packer = lz4 ] || check "... one that was cut off: one sentence says so" \
		grep -q "^pcce-core: cannot unpack all of 'part': " printed.err
	head -c 20 packed >part
	pcce-core part >printed 2>printed.err
	check "... one of 20 bytes is refused" [ $? = 1 -a "$(grep -c '^pcce-core: cannot' printed.err)" -ge 1 ]
done
is "no temporary file is left" "$(find /var/tmp "${TMPDIR:-/tmp}" -maxdepth 1 -name 'pcce-core.*')" ""
zstd -qc core >packed
is "a temporary file that cannot be made" "$(TMPDIR=/nonexistent unshare -m sh -c '
	mount -t tmpfs -o ro none /var/tmp; pcce-core packed' 2>&1 | cut -d : -f 1-3)" \
	"pcce-core: cannot unpack 'packed': cannot make a temporary file"
printf 'int main(void) { *(volatile int *)8 = 1; }\n' >none.c
$CC none.c -o none
crash ./none
pcce-core core >printed 2>printed.err
is "a program without pcce" "$? $(grep -c 'no file of the process is instrumented' printed.err)" "3 1"

crash ./crashes null 30
size=$(stat -c %s core)
for part in 40 2000 $((size / 3)) $((size * 2 / 3)); do
	head -c "$part" core >part.core
	timeout 300 pcce-core part.core >printed 2>printed.err
	status=$?
	check "a core of $part bytes gives a message and no crash" \
		[ "$status" -le 3 -a "$(wc -l <printed.err)" -ge 1 -o "$status" = 0 ]
done
pcce-core none.c >printed 2>printed.err
is "what is no core is refused" "$? $(cat printed.err)" \
	"1 pcce-core: cannot decode 'none.c': it is no core dump of an x86-64 process"

# ---- groups --------------------------------------------------------------------------------

for run in 1 2 3; do
	crash ./crashes null 9
	mv core group.$run
done
crash ./crashes null 10
mv core group.4
crash ./crashes divide 9
mv core group.5
pcce-core --group group.* >groups 2>groups.err
is "cores with one context are a group" "$(grep -o '^[0-9]* core.*' groups | sed 's/ by.*):/:/')" \
	"$(printf '%s\n' '3 cores: group.1 group.2 group.3' '1 core: group.4' '1 core: group.5')"

# The table is in a debug file, and a library is instrumented and not encoded.
cat >between.c <<'END'
__attribute__((noipa)) static int within(void (*f)(void)) { f(); return 1; }
int between(void (*f)(void)) { return within(f) + 1; }
END
cat >split.c <<'END'
#include <stdlib.h>
int between(void (*f)(void));
__attribute__((noipa)) static void fall(void) { abort(); }
int main(int argc, char **argv) { (void)argv; return argc > 1 ? between(fall) : (fall(), 0); }
END
# shellcheck disable=SC2046
$CC -O1 -g $(pkg-config --cflags pcce) -fPIC -shared between.c -o libbetween.so
build split -O1 split.c -L. -lbetween -Wl,-rpath,"$PWD" || not_ok "split.c is built" split.log
crash ./split library
pcce-core core >printed 2>printed.err
is "a library that is not encoded: both gaps" "$(grep -c '\[truncated\]' printed)" 2
objcopy --only-keep-debug split split.debug
strip -R .pcce split
objcopy --add-gnu-debuglink=split.debug split
rm -f libbetween.so
# shellcheck disable=SC2046
$CC -O1 -g -fPIC -shared between.c -o libbetween.so
crash ./split
pcce-core core >printed 2>printed.err
is "a table in a debug file: the context" \
	"$(grep -o '#[0-9]*  *\(fall\|main\)' printed | sed 's/.* //' | xargs)" "fall main"
done_testing

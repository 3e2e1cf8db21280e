#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests pcce-check: what it says of files, libraries, processes and samplers, and its exit status.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

cat >library.c <<'END'
int leaf(int n) { return n + 1; }
int work(int n) { return n ? leaf(n) : 2; }
END
cat >program.c <<'END'
#include <unistd.h>
int work(int n);
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		pause();
	return work(argc) == 0;
}
END
mkdir plain pcce unencoded
# shellcheck disable=SC2086 # lists of flags
$CC -O2 -g -fPIC -shared library.c -o plain/libwork.so &&
	$CC -O2 -g $cflags -fPIC -shared library.c $ldflags -o pcce/libwork.so &&
	PCCE_ENCODE=off $CC -O2 $cflags -fPIC -shared library.c $ldflags -o unencoded/libwork.so &&
	$CC -O2 -g program.c -Lplain -lwork -Wl,-rpath,"\$ORIGIN" -o plain/program &&
	$CC -O2 -g $cflags program.c $ldflags -Lpcce -lwork -Wl,-rpath,"\$ORIGIN" -o pcce/program &&
	cp plain/program unencoded &&
	$CC -O2 $cflags program.c -Lplain -lwork -Wl,-rpath,"$PWD/plain" -o unlinked &&
	$CC -O2 program.c -Lplain -lwork -o bare || {
	not_ok "build the programs"
	done_testing
}

# says NAME STATUS PATTERN... -- ARGUMENTS: the exit status, and a line for each pattern
says() {
	local name=$1 wanted=$2 patterns=() p
	shift 2
	while [ "$1" != -- ]; do
		patterns+=("$1")
		shift
	done
	shift
	pcce-check "$@" >said 2>&1
	is "$name: exit status" $? "$wanted"
	for p in "${patterns[@]}"; do
		if grep -Eq -e "$p" said; then ok "  $p"; else not_ok "  $p" said; fi
	done
}

# ---- probes: tests/e2e/breakpoints.sh tests the places themselves ------------------------------

cat >names.cc <<'END'
#include <string>
namespace shop {
__attribute__((noinline)) int price(int n) { volatile int x = n; return x + 1; }
__attribute__((noinline)) int price(const std::string &s) { volatile int x = 1; return x + (int)s.size(); }
}
int main(int argc, char **) { return shop::price(argc) + shop::price(std::string("x")) == 0; }
END
# shellcheck disable=SC2086 # lists of flags
$CXX -O2 $cflags -fcf-protection=none names.cc $ldflags -o names &&
	$CXX -O2 $cflags -fcf-protection names.cc $ldflags -o protected || not_ok "build a C++ program"
address=$(nm pcce/libwork.so | sed -n 's/^0*\([0-9a-f]*\) T leaf$/\1/p')
says "--probe finds a function of a library" 0 \
	"^.*libwork.so:leaf\+16 0x$(printf %x $((0x$address + 16)))\$" -- --probe=leaf pcce/program
says "  of a program that is not encoded: the symbol" 0 '^.*unencoded/libwork.so:leaf$' \
	-- --probe leaf unencoded/libwork.so
says "  C++ functions by name" 0 '^names:_ZN4shop5priceEi\+16 0x' \
	'^names:_ZN4shop5priceERK.*\+16 0x' -- --probe=shop::price names
says "  one of them" 0 '^names:_ZN4shop5priceEi\+16 0x' -- --probe='shop::price(int)' names
is "  and no other" "$(wc -l <said)" 1
says "  behind endbr64" 0 '^protected:_ZN4shop5priceEi\+20 0x' -- --probe=_ZN4shop5priceEi protected
says "  no such function" 1 "^pcce-check: cannot find nothing: .*; name it as" -- --probe=nothing names
says "  not with --machine" 2 'cannot find a function with --machine' -- --machine --probe=main
objcopy -R .pcce names stripped
says "  without a table" 1 'cannot look for main in stripped: it is encoded, but its encoding table' \
	-- --probe=main stripped

gcc_version=$($CC -dumpfullversion)
says "an instrumented program" 0 '^pcce/program: instrumented and encoded$' \
	"^  compiler: .*$gcc_version" '^  plugin: site records of version [0-9]+$' \
	'^  encoding table: version [0-9]+, [1-9][0-9]* functions, [1-9][0-9]* calls$' \
	'^  source lines: in the file$' '^libraries:$' \
	'^  .*pcce/libwork.so: instrumented and encoded$' '^  .*/libc.so.6: not instrumented$' \
	'^samplers:$' '^  kmod: can' '^  bpf: can' '^  self: can be used$' -- pcce/program
says "a plain program" 3 '^plain/program: not instrumented$' "^  compiler: .*$gcc_version" \
	'^  .*plain/libwork.so: not instrumented$' \
	'^  self: cannot be used: it is part of instrumented programs and libraries' -- plain/program
LD_LIBRARY_PATH=pcce says "a plain program with an instrumented library" 0 \
	'^bare: not instrumented$' '^  pcce/libwork.so: instrumented and encoded$' \
	'^  self: can be used$' -- bare
says "a library that is not encoded" 3 \
	'^  unencoded/libwork.so: instrumented, but not encoded: link it' -- unencoded/program
LD_LIBRARY_PATH=unencoded pcce-record -b self -o unencoded.data -- pcce/program >/dev/null 2>said
check "  pcce-record says so" grep -q 'unencoded/libwork.so is instrumented, but not encoded' said
says "a program that is not encoded" 3 \
	'^unlinked: instrumented, but not encoded: link it with pcce-gcc or' -- unlinked
pcce-record -b self -o unlinked.data -- ./unlinked >/dev/null 2>said
check "  pcce-record says so" grep -q 'unlinked is instrumented, but not encoded; link it with pcce-gcc or' said
pcce-record --count -o unlinked.data -- ./unlinked >/dev/null 2>said
check "  pcce-record --count says so" grep -q 'unlinked is instrumented, but not encoded; link it' said
says "a library by itself" 0 '^pcce/libwork.so: instrumented and encoded$' -- pcce/libwork.so
pcce-encode unencoded/libwork.so
says "after pcce-encode" 0 '^  unencoded/libwork.so: instrumented and encoded$' \
	-- unencoded/program
rm unencoded/libwork.so
says "a library that is not there" 3 '^  libwork.so: not found$' -- unencoded/program
says "a command" 3 '^/.*/cat: not instrumented$' -- cat
strip -o stripped pcce/program && objcopy --only-keep-debug pcce/program debug &&
	objcopy --add-gnu-debuglink=debug stripped || not_ok "strip the program"
says "a stripped program" 0 '^stripped: instrumented and encoded$' \
	'^  source lines: in a separate file, which it names$' -- stripped
is "quietly" "$(pcce-check -q pcce/program 2>&1; echo $?)" 0
is "quietly, of a plain one" "$(pcce-check -q plain/program 2>&1; echo $?)" 3

# ---- processes ---------------------------------------------------------------------------------

pcce/program wait &
pid=$!
until grep -q libwork /proc/$pid/maps && grep -q '[SD] (sleeping)' /proc/$pid/status; do sleep 0.1; done
status=3
! has_bpf || status=0
says "a process" $status '^/.*/pcce/program: instrumented and encoded$' \
	'^  .*/pcce/libwork.so: instrumented and encoded$' '^  .*/libc.so.6: not instrumented$' \
	'^  self: cannot be used: it cannot attach' -- $pid
kill $pid
wait $pid 2>/dev/null
says "a process that has ended" 1 "^pcce-check: cannot check process $pid: no such process$" -- $pid

# ---- samplers ----------------------------------------------------------------------------------

says "another event" "$(has_bpf; echo $((($? != 0) * 3)))" \
	"^  self: cannot be used: it supports only the events cpu-clock, task-clock and malloc, not 'page-faults'" \
	-- -e page-faults pcce/program
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch" . pcce
	cp "$out/bin/pcce-check" .
	says_as_nobody() {
		setpriv --reuid=65534 --regid=65534 --clear-groups ./pcce-check pcce/program
	}
	says_as_nobody >said 2>&1
	check "without privilege: bpf cannot be used" \
		grep -q '^  bpf: cannot be used: it needs the capabilities' said
	check "  self can" grep -qx '  self: can be used' said
	chown 65534 pcce/program
	chmod u+s pcce/program
	says "a set-uid program" "$(has_bpf; echo $((($? != 0) * 3)))" \
		'^  self: cannot be used: it cannot sample a program that is set-uid' -- pcce/program
	chmod u-s pcce/program
else
	skip "without privilege, set-uid programs" "needs root"
fi

# ---- what cannot be checked --------------------------------------------------------------------

says "nothing" 2 'nothing is given' --
says "two programs" 2 'more than one program' -- pcce/program plain/program
says "a missing file" 1 '^pcce-check: cannot open none/program: No such file' -- none/program
says "a directory" 1 '^pcce-check: cannot check ./pcce: it is not a regular file$' -- ./pcce
says "a script" 1 'it is a script; check its interpreter: /bin/sh$' -- "$out/bin/pcce-config"
says "a text" 1 'it is not an ELF file$' -- library.c
mkfifo pipe
says "a pipe" 1 'it is not a regular file$' -- ./pipe
head -c 100 pcce/program >short
says "the beginning of a file" 1 '^pcce-check: cannot check ./short: it ' -- ./short
check "what cannot be written is told" \
	sh -c 'pcce-check pcce/program >/dev/full 2>log; [ $? = 1 ] && grep -q "No space left" log'

# ---- the machine -----------------------------------------------------------------------

pcce doctor >machine 2>log
is "pcce doctor: exit status" $? 0
is "... no message" "$(cat log)" ""
check "... the compiler" grep -q '^compiler: .' machine
check "... samplers" grep -q '^  self: can be used$' machine
check "... events" grep -qE '^  cpu-clock: can be recorded with (kmod|bpf|self)$' machine
check "... an event that cannot be has a reason" grep -qE \
	'^  [a-z:_-]+: (can be recorded with [a-z]+|cannot be recorded: .+)$' machine
check "... a trial: all samples are exact" \
	grep -qE '^trial: .* ([1-9][0-9]*) of \1 samples are exact$' machine
mkdir tmp
TMPDIR=$PWD/tmp pcce-check --machine -q
is "--machine -q: exit status" $? 0
is "... it leaves no file" "$(ls tmp)" ""
PCCE_CC=no-such-compiler pcce doctor >machine 2>&1
is "without a compiler: exit status" $? 3
check "... says what to do" grep -q 'cannot build a program: .*PCCE_CC' machine
cat >silent <<'END'
#!/bin/sh
[ "$1" != --version ] || exec gcc --version
kill -9 $$
END
chmod +x silent
PCCE_CC=$PWD/silent pcce doctor >machine 2>&1
is "a compiler that is killed: exit status" $? 3
check "... is told" grep -q 'cannot build a program: it ended without a message$' machine
is "... and nothing was recorded" "$(grep -c '^trial:' machine)" 0
TMPDIR=/nowhere pcce doctor >machine 2>&1
is "without a place for files: exit status" $? 3
check "... says so" grep -q 'cannot make a folder like /nowhere/.*TMPDIR' machine
pcce-check --machine pcce/program >machine 2>&1
is "--machine and a program: exit status" $? 2

# Damaged files: an answer and no crash, whatever byte is wrong.
crashed=0
size=$(stat -c %s pcce/program)
for ((i = 0; i < 150; i++)); do
	cp pcce/program damaged
	at=$((i < 64 ? i : (i * 7919) % size))
	printf '\377' | dd of=damaged bs=1 seek=$at conv=notrunc 2>/dev/null
	pcce-check -q ./damaged >/dev/null 2>&1
	[ $? -le 3 ] || crashed=$((crashed + 1))
done
is "damaged files: no crash" $crashed 0

done_testing
